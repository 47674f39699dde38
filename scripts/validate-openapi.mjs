// Checks an OpenAPI document, by default openapi.json, with two independent validators; exits with 1 where it fails.
// (Both are ES modules, which jest cannot load below Node 24.9: hence a process of its own.)
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
