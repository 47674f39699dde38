export { canonicalJson, sha256OfJson } from './canonical.writer';
export { JsonInputError } from './json-input.error';
export { MAX_DEPTH } from './json-limits';
export { parseJson } from './json.parser';
export { toJsonText } from './json.writer';
export { memberNames } from './member-order';
export { mergePatch } from './merge-patch';
export { RawJson } from './raw-json';
export { toRawJson, toRawJsonOrNull } from './to-raw-json';
