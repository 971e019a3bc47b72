// Ends one inclusion of kernels-inl.h. No include guard.
#undef GLOVE_KERNELS_ATTRIBUTES
#undef GLOVE_KERNELS_AMX
#undef GLOVE_KERNELS_DOT
#undef GLOVE_KERNELS_FLOATS
#undef GLOVE_KERNELS_NAME
#undef GLOVE_KERNELS_NAMESPACE
