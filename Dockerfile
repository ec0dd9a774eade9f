# HQM in a container, with local models. Without arguments: the plain Python image, for the CPU.
#
#   docker build -t hqm --build-arg TORCH_INDEX=<an index with CPU builds of torch> .
#   docker run --rm -v "$PWD:/work" hqm audit shapes --out out
#
# For CUDA name an image with CUDA's libraries and Python 3.11 to 3.13, or an index whose builds bring the libraries along:
#
#   docker build -t hqm:cuda --build-arg TORCH_INDEX=<an index with CUDA builds of torch> .
#   docker run --rm --gpus all -v "$PWD:/work" hqm:cuda audit pope -r hf/llava-hf/llava-1.5-7b-hf
#
# BASE         the image to start from
# TORCH_INDEX  a further package index that torch is taken from; empty takes the default index, whose builds carry CUDA on Linux
# EXTRAS       what is installed beside the plain package: local, parquet, logs, hub, ray, figures, stats (pingouin, GPL-3)
ARG BASE=python:3.12-slim
FROM ${BASE}

ARG TORCH_INDEX=
ARG EXTRAS=local,parquet,hub,figures

WORKDIR /opt/hqm
# torch alone first: the largest layer stays when only HQM changes
COPY constraints.txt ./
RUN case ",${EXTRAS}," in \
      *,local,*) python -m pip install --no-cache-dir --constraint constraints.txt \
        ${TORCH_INDEX:+--index-url "${TORCH_INDEX}"} torch ;; \
    esac
COPY pyproject.toml README.md LICENSE ./
COPY hqm ./hqm
COPY adapters ./adapters
COPY benchmarks ./benchmarks
COPY reports ./reports
COPY extensions ./extensions
RUN python -m pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]" ./extensions/hqm-* \
    && useradd --create-home hqm

USER hqm
ENV HQM_DATA=/data
WORKDIR /work
ENTRYPOINT ["hqm"]
CMD ["--help"]
