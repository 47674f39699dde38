import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemDto } from '#platform/problem';
import { completeDocument } from './complete';

export const API_TITLE = 'public API';
export const API_VERSION = 'current';

const DESCRIPTION = `Registry, store and evaluation service for teams that build AI agents.

**Errors** are problem details (RFC 9457) with a machine-readable \`code\`. A body or query of the wrong form is 400 and tells where by JSON pointer; an unknown value of an enumerated member is 422. JSON is nested at most 64 levels deep, and is 400 where it could not be given back as it came: NUL or a lone surrogate in a text, a number beyond IEEE 754 binary64, an integer that it would round.

**Bodies**: an unknown member is ignored, but for bodies that select (search, scoring, gates, figures over traces), where it is 400. PATCH is a JSON merge patch (RFC 7396): what is absent stays, null clears; \`input\`, \`expected\`, \`config\`, \`definition\`, \`context_manifest\` and schemas are replaced whole. \`If-Match\` with the \`ETag\` of a read makes it 412 where somebody else was faster.

**Lists** page by \`cursor\` (the same cost at any depth) or \`offset\`; an unknown query parameter is 400. Archived resources are left out, unless \`include_archived\` is true.

**Repeats**: POST and PATCH take an \`Idempotency-Key\`; a repeat answers what the first did, with \`Idempotency-Replayed: true\`. Operations that answer a secret (a key, a token) do not, and list no such parameter. A key whose request ended with its process, before its answer was kept, can be used again after 30 s.

Every answer carries \`X-Request-Id\`. A bearer token is a JWT or an API key.`;

/** The name of an operation: \`DatasetController.createBulk\` is \`dataset_createBulk\`. */
const operationId = (controller: string, method: string): string => {
  const noun = controller.replace(/Controller$/, '');
  return `${noun.charAt(0).toLowerCase()}${noun.slice(1)}_${method}`;
};

/**
 * Builds the OpenAPI 3.1 document of an application from its controllers and DTOs.
 * @param baseUrl the one server; a relative one stands for wherever the document was read from.
 */
export function buildDocument(app: INestApplication, baseUrl = '/'): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(API_TITLE)
    .setVersion(API_VERSION)
    .setDescription(DESCRIPTION)
    .addServer(baseUrl)
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'bearer')
    .build();
  return completeDocument(
    SwaggerModule.createDocument(app, config, { operationIdFactory: operationId, extraModels: [ProblemDto] }),
  );
}
