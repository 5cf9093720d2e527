"""List refused operators, each with the reason."""

from neuronir.frontends.onnx.registry import REFUSED

_SEQUENCE = "sequences have no static shape"
_OPTIONAL = "optional values exist or not only when the model runs"
_STRING = "strings are no numbers"
DATA = "the shape of its result depends on data"
_LEARNED = "classical machine learning models do not run on the device"
_TRAINING = "it describes training, which is exported as a plain graph instead"

DATA_DEPENDENT = {"NonZero": slice(0, 1), "Compress": slice(1, 2)}
"""Operators refused if one of these operands depends on data, because their shape then does too."""

_REASONS = {
    _SEQUENCE: "SequenceEmpty SequenceConstruct SequenceInsert SequenceErase SequenceAt "
    "SequenceLength SequenceMap SplitToSequence ConcatFromSequence",
    _OPTIONAL: "Optional OptionalHasElement OptionalGetElement",
    _STRING: "StringConcat StringSplit StringNormalizer RegexFullMatch TfIdfVectorizer",
    DATA: "Unique NonMaxSuppression",
    "int8 quantised models are not supported: compile the float model": "QuantizeLinear "
    "DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul ConvInteger MatMulInteger",
    "images are decoded on the host": "ImageDecoder",
}
_LEARNED_NAMES = (
    "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor SVMClassifier SVMRegressor "
    "LinearClassifier DictVectorizer CategoryMapper CastMap Imputer LabelEncoder ZipMap "
    "OneHotEncoder FeatureVectorizer Scaler Normalizer LinearRegressor"
)

for _reason, _names in _REASONS.items():
    for _name in _names.split():
        REFUSED["", _name] = _reason
for _name in _LEARNED_NAMES.split():
    REFUSED["ai.onnx.ml", _name] = _LEARNED
REFUSED["ai.onnx.preview.training", "Gradient"] = _TRAINING
