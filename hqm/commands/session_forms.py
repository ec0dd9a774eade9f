"""The forms of a session: those that the options name, and those that were recorded."""

from __future__ import annotations

from collections.abc import Mapping

from hqm.administration.stored_answers import forms_by_name, forms_of
from hqm.benchmark.adapter import Benchmark
from hqm.commands.options import MaterialOptions
from hqm.errors import UsageError
from hqm.forms.make_forms import foreign_sentence, read_form
from hqm.types import ORIGINAL, REWORDINGS, Form


class SessionForms:
    """The forms of each benchmark of a session. Files of forms are read once.

    Parameters
    ----------
    options
        Which forms are meant, and the files that have some.
    full_benchmarks
        Benchmark -> the whole benchmark, to whose items a file of a form is matched.
    only_recorded
        Whether every respondent is recorded, so that nobody is asked anything.
    """

    def __init__(
        self,
        options: MaterialOptions,
        full_benchmarks: Mapping[str, Benchmark],
        *,
        only_recorded: bool,
    ) -> None:
        self.options = options
        self.full_benchmarks = full_benchmarks
        self.only_recorded = only_recorded
        self.recorded: dict[str, set[str]] = {}
        """Benchmark -> the names of the forms to which recorded answers were read."""
        self._whole_file_forms: dict[str, list[Form]] = {}
        self._file_forms: dict[str, tuple[Form, list[Form]]] = {}
        """Benchmark -> the forms from files, cut to the items of this original form."""

    def from_files(self, benchmark: Benchmark) -> list[Form]:
        """Return the forms that the options name as files."""
        if not self.options.form_files:
            return []
        if benchmark.name not in self._whole_file_forms:
            # like answers, a form in a file is one of the whole benchmark, and cut afterwards
            full_form = self.full_benchmarks[benchmark.name].original
            self._whole_file_forms[benchmark.name] = [
                read_form(path, full_form, name) for name, path in self.options.form_files.items()
            ]
        original, forms = self._file_forms.get(benchmark.name, (None, []))
        if original is not benchmark.original:
            whole_forms = self._whole_file_forms[benchmark.name]
            forms = [form.restrict_to(benchmark.original.by_id) for form in whole_forms]
            self._file_forms[benchmark.name] = (benchmark.original, forms)
        return forms

    def named(self, benchmark: Benchmark) -> list[Form]:
        """Return the forms that the options name, in their order.

        Raises
        ------
        UsageError
            The benchmark has no form of that name, or no item has that wording.
        """
        form_names = self._names(benchmark)
        forms = forms_by_name(
            forms_of(benchmark, self.from_files(benchmark), rewordings=form_names)
        )
        for name in form_names:
            if name not in forms:
                known_names = ", ".join(dict.fromkeys([ORIGINAL, *REWORDINGS, *forms]))
                raise UsageError(
                    f"{benchmark.name} has no form {name!r}",
                    remedy=f"It has {known_names}; bring one with --form.",
                    name=name,
                    choices=forms,
                )
        worded: list[Form] = []
        for name in form_names:
            form = forms[name]
            if form.items or not form.left_out:
                worded.append(form)
            # nobody asked for the parallel form by name, and nobody is going to be put it
            elif not self._takes_all_recorded:
                reason = foreign_sentence(form) or f"the first: {form.left_out[0].reason}"
                raise UsageError(
                    f"no item of {benchmark.name} has a wording {form.name!r}; {reason}",
                    remedy=(
                        f"Ask with --forms {ORIGINAL}, or bring it with --form {form.name}=FILE."
                    ),
                )
        return worded

    def readable(self, benchmark: Benchmark) -> dict[str, Form]:
        """Return the forms of a whole benchmark to which a file may hold answers, by name: those of
        the options, and the benchmark's own.
        """
        return forms_by_name([*benchmark.further_forms, *self.named(benchmark)])

    @property
    def _takes_all_recorded(self) -> bool:
        """Whether what was recorded says which forms are meant, since no option names any."""
        return self.only_recorded and self.options.forms == MaterialOptions().forms

    def _names(self, benchmark: Benchmark) -> list[str]:
        """The names of the forms that are meant, each once."""
        if benchmark.included_recordings:
            recorded_forms = {recording.form for recording in benchmark.included_recordings}
            form_names = [ORIGINAL, *sorted(recorded_forms - {ORIGINAL})]
        else:
            form_names = [
                *self.options.form_names(benchmark.original.tasks),
                *self.options.form_files,
            ]
        if self._takes_all_recorded:
            # What was recorded was administered, whether or not somebody names it.
            form_names += sorted(self.recorded.get(benchmark.name, ()))
        return list(dict.fromkeys(form_names))
