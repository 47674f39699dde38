export { type Builtin, BUILTINS } from './builtin.matchers';
export { defaultReplacement, Masker, Masking, type MaskingRule } from './masker';
