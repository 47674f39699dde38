// Checks an OpenAPI document, by default openapi.json, with two independent validators. Exits with 1 if it is invalid.
// It runs in its own process, because both are ES modules, which jest cannot load below Node 24.9.
import { readFileSync } from 'node:fs';
import SwaggerParser from '@apidevtools/swagger-parser';
import { Validator } from '@seriousme/openapi-schema-validator';

const file = process.argv[2] ?? 'openapi.json';
const read = () => JSON.parse(readFileSync(file, 'utf8'));

const { valid, errors } = await new Validator().validate(read());
if (!valid) {
  console.error(JSON.stringify(errors, null, 2));
  process.exitCode = 1;
}
await SwaggerParser.validate(read());
