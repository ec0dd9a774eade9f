"""`python -m hqm.benchmarks.shapes.train`."""

from hqm.benchmarks.shapes.train import main

if __name__ == "__main__":
    main()
