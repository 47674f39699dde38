import type { OtlpResource, OtlpScope } from './otlp.types';

/** A resource with the defaults of protobuf, to be filled by a reader. */
export function newResource(): OtlpResource {
  return { attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
}

/** A scope with the defaults of protobuf, to be filled by a reader. */
export function newScope(): OtlpScope {
  return { name: '', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
}
