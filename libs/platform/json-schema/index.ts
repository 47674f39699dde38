export { compileJsonSchema, JsonSchemaCache } from './schema.compiler';
export type { CompiledSchema, SchemaViolation } from './schema.compiler';
export { SchemaError } from './schema.normalizer';
export { schemaShapeFault } from './schema.shape';
