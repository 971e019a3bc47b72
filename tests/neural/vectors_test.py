"""Vectors of ONNX models by ONNX Runtime, beside NumPy in double precision and beside the Python package onnxruntime:

    vectors_test.py GLOVE_SO FOLDER
"""
import os
import unittest

import numpy

from neural import NeuralTest
import onnxruntime  # of the environment, in which neural.py started this program again
from make_model import ALL_INPUTS, IDS, Network, pooled, sentence_embedding, token_ids

MOST_ERROR = 1e-6  # of the greatest component, or of 1


class VectorsTest(NeuralTest):
    def texts(self):
        return ["", " ", "cat", "Cats! Dogs? unbelievable 1234", "the cat runs.\n\tthe dog", "x" * 90, "x" * 101,
                *(self.text(int(words)) for words in (1, 2, 5, 20, 61, 62, 63, 64, 300))]

    def outputs(self, ids, name="m", inputs=ALL_INPUTS, file="onnx/model.onnx"):
        """What the package computes of the same file."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(os.path.join(self.path(name), file), options, providers=["CPUExecutionProvider"])
        values = dict(zip(ALL_INPUTS, numpy.array([[ids], [[1] * len(ids)], [[0] * len(ids)]], "i8")))
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, {name: values[name] for name in inputs})))

    def expect_near(self, found, expected, text):
        self.assertLess(numpy.abs(found - expected).max(), MOST_ERROR * max(1, numpy.abs(expected).max()), text)

    def check(self, network, pooling="mean", normalize=True, lower=True, most=64, exact=None):
        """`exact`: makes the vector of the package's outputs."""
        self.load()
        for text in self.texts():
            ids = token_ids(text, lower, most)
            found = self.vector(text)
            if exact is None:
                self.expect_near(found, pooled(network.hidden(ids), pooling, normalize), text)
                hidden = self.outputs(ids, inputs=network.inputs)["last_hidden_state"][0].astype(float)
                if pooling == "mean":  # as the sum goes from the first token to the last
                    hidden = numpy.cumsum(hidden, 0)[-1:] / len(ids)
                vector = pooled(hidden, pooling, False)
                if normalize:
                    vector = vector / numpy.sqrt(numpy.cumsum(vector * vector)[-1])
            else:
                vector = exact(self.outputs(ids, inputs=network.inputs))
            self.assertEqual(found.tobytes(), vector.astype("f4").tobytes(), text)

    def test_poolings_by_old_and_new_names(self):
        network = Network(seed=SEEDS[0])
        for legacy in (False, True):
            for pooling in ("mean", "cls", "max", "lasttoken"):
                for modules in (["Pooling"], ["Pooling", "Normalize"]):
                    with self.subTest(pooling=pooling, legacy=legacy, modules=modules):
                        self.make(network=network, pooling=pooling, legacy=legacy, modules=modules, old_names=legacy)
                        self.check(network, pooling, "Normalize" in modules)

    def test_inputs(self):
        for inputs in (ALL_INPUTS[:2], ALL_INPUTS[:1], ALL_INPUTS[::-1], ("input_ids", "token_type_ids")):
            with self.subTest(inputs):
                network = Network(seed=SEEDS[1], inputs=inputs)
                self.make(network=network)
                self.check(network)

    def test_upper_case_and_a_limit_of_tokens(self):
        network = Network(seed=SEEDS[2])
        for legacy in (False, True):
            self.make(network=network, lower=False, max_seq_length=8, legacy=legacy)
            self.check(network, lower=False, most=8)
            self.make(network=network, max_seq_length=1000, legacy=legacy)
            self.check(network)

    def test_do_lower_case(self):
        network = Network(seed=SEEDS[3])
        folder = self.make(network=network, lower=False)
        with open(os.path.join(folder, "sentence_bert_config.json"), "w", encoding="ascii") as file:
            file.write('{"max_seq_length": 64, "do_lower_case": true}')
        self.check(network)

    def test_the_vector_of_the_text_by_the_network(self):
        network = Network(seed=SEEDS[4])
        self.make(network=network, modules=["Pooling"], changed=sentence_embedding)
        self.check(network, exact=lambda outputs: outputs["sentence_embedding"][0])
        self.make("d", network=network, modules=["Pooling", "Dense"], changed=lambda *values: sentence_embedding(*values, dense=True))
        self.load("d")
        for text in self.texts():
            ids = token_ids(text)
            expected = numpy.tanh(network.hidden(ids).mean(0) @ network.dense[0] + network.dense[1])
            self.expect_near(self.vector(text, "d"), expected, text)
            self.assertEqual(self.vector(text, "d").tobytes(), self.outputs(ids, "d")["sentence_embedding"][0].tobytes())
        self.make("n", network=network, modules=["Pooling", "Dense", "Normalize"], changed=lambda *values: sentence_embedding(*values, dense=True))
        self.load("n")
        self.assertAlmostEqual(numpy.linalg.norm(self.vector("cat", "n").astype(float)), 1, places=6)
        # Without a Pooling, the network has to make the vector.
        self.make("t", network=network, modules=[], changed=sentence_embedding)
        self.load("t")
        self.assertEqual(self.vector("cat", "t").tobytes(), self.outputs(token_ids("cat"), "t")["sentence_embedding"][0].tobytes())

    def test_integers_of_8_bits(self):
        network = Network(seed=SEEDS[5])
        self.make(network=network, int8=True)
        self.load()
        for text in self.texts():
            ids = token_ids(text)
            hidden = numpy.cumsum(self.outputs(ids)["last_hidden_state"][0].astype(float), 0)[-1] / len(ids)
            expected = hidden / numpy.sqrt(numpy.cumsum(hidden * hidden)[-1])
            self.assertEqual(self.vector(text).tobytes(), expected.astype("f4").tobytes())
            self.assertGreater(expected @ pooled(network.hidden(ids)), 0.98)

    def test_prompts_and_dims(self):
        network = Network(seed=SEEDS[6])
        self.make(network=network, prompts={"query": "query: ", "passage": "passage: "})
        for options, prompt in ((None, "passage: "), ('{"document_prompt":""}', ""), ('{"prompt":"title: "}', "title: ")):
            self.load(options=options)
            expected = pooled(network.hidden(token_ids(prompt + "cat dog")))
            self.expect_near(self.vector("cat dog"), expected, options)
        for dims in (1, 5, 31, 32):
            self.load(options=f'{{"dims":{dims},"prompt":""}}')
            expected = pooled(network.hidden(token_ids("cat dog")), dims=dims)
            self.expect_near(self.vector("cat dog"), expected, options)

    def test_tokens(self):
        self.make(max_seq_length=8, prompts={"document": "title: "})
        self.load()
        names = {id: token for token, id in IDS.items()}
        for text in self.texts():
            self.assertEqual(self.ask("SELECT position, id, token, weight FROM glove_tokens(?, 'm')", text),
                             [(i + 1, id, names[id], 1.0) for i, id in enumerate(token_ids("title: " + text, most=8))])

    def test_threads_change_no_bit(self):
        self.make(network=Network(seed=SEEDS[7], dims=128))
        self.load()
        texts = self.texts()
        made = []
        for threads in ("1", "2", "0"):
            self.ask("SELECT glove_config('threads', ?)", threads)
            made.append([self.vector(text).tobytes() for text in texts])
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], made[2])


SEEDS = numpy.random.default_rng(int(os.environ.get("GLOVE_TEST_SEED", "1"))).integers(1 << 30, size=8)

if __name__ == "__main__":
    unittest.main()
