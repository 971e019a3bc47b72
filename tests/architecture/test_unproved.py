"""Which changes make .ci/run prove the kernels again."""

import unittest

from changes import changed_since, with_includers
from unproved import ROOMS, about_proofs


class Unproved(unittest.TestCase):
    def test_what_the_proofs_depend_on(self):
        for name, kernel in (("gpu/kernels/single_scan.cu", "gpu/kernels/single_scan.cu"),
                             ("model/bound.h", "gpu/kernels/single_scan.cu"),  # by gpu/kernels/single_query.cuh
                             ("model/metric.h", "gpu/kernels/score_all.cu"),
                             ("gpu/primitives/warp/matrix.cuh", "gpu/kernels/batch_scan.cu"),
                             ("tests/gpu/launches/rows.cpp", "tests/gpu/launches/rows.cpp"),
                             ("tools/verify/value/reason.cpp", "tools/verify/value/reason.cpp")):
            self.assertIn(kernel, about_proofs(with_includers([name], ROOMS)), name)

    def test_what_they_do_not_depend_on(self):
        for name in ("docs/live.md", "model/quantize.cpp", "model/model.h", "search/query.h", "sql/nn/glove_oov.cpp", "cpu/search/scan.h"):
            self.assertEqual(about_proofs(with_includers([name], ROOMS)), [], name)

    def test_a_commit_that_is_not_known(self):
        self.assertIsNone(changed_since("no_such_record", ROOMS))


if __name__ == "__main__":
    unittest.main()
