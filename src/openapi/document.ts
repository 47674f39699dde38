import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { PathNames } from '#platform/auth';
import { ProblemDto } from '#platform/problem';
import { completeDocument } from './complete';
import { operationIdOf, withPlainSchemaNames } from './names';
import type { Document } from './operation';
import { completeSchemas } from './schemas';
import { shareComponents } from './shared-components';

export const API_TITLE = 'public API';
export const API_VERSION = 'current';

const DESCRIPTION = `Registry, store and evaluation service for teams that build AI agents.

**Errors** are problem details (RFC 9457) with a machine-readable \`code\`. A malformed body or query returns 400; \`errors\` points to the member or parameter. An unknown value of an enumerated member returns 422. JSON may be nested at most 64 levels deep. A lone surrogate in a string and a number outside the range of IEEE 754 binary64 return 400. In typed members, NUL characters and integers that binary64 would round also return 400. Free-form members (such as \`input\`, \`output\` and \`metadata\`) keep them.

**Bodies**: an unknown member returns 400, and \`detail\` suggests the closest known member. Read-only members of a resource (ids, times, counts) are accepted and ignored, so you can read a resource, change it and send it back. Free-form members and OTLP bodies accept any member. PATCH is a JSON merge patch (RFC 7396), as \`application/json\` or \`application/merge-patch+json\`: absent members keep their value, and null clears a member. \`input\`, \`expected\`, \`config\`, \`definition\`, \`context_manifest\` and schemas are replaced completely. Send the \`ETag\` of a read as \`If-Match\`: the change returns 412 if the resource has changed since. Other responses to GET of at most 256 KiB have an \`ETag\` of their content. Every GET accepts \`If-None-Match\`, and returns 304 if your copy is current.

**Workspaces**: send \`X-Service-Workspace-Id\` with every request, if you like. Operations that do not list it ignore which workspace it names, but return 403 for one that you cannot access, and 400 for several.

**Lists** are paged by \`cursor\` (the same cost at any depth) or \`offset\`. An unknown query parameter returns 400. Lists cover the workspaces where you have the required role. They omit archived resources unless \`include_archived\` is true.

**Retries**: every POST and PATCH that writes accepts an \`Idempotency-Key\`. A repeat returns the first successful response, with \`Idempotency-Replayed: true\`, if you still have the required role. Operations that only read, or that return a secret (a key or a token), ignore the header and do not list it. If the service stops before it has stored the response, you can reuse the key after 10 s.

**Rate limits** count the requests of each principal by class: \`reads\` (GET, and operations that only read), \`writes\`, \`telemetry\` (exports), \`proxy\` (the API proxy, the model gateway and the MCP endpoint) and \`store_listing\` (the publisher's list of store items). Responses have \`RateLimit-Policy\` and \`RateLimit\`. Beyond the limit, requests return 429 with \`Retry-After\`. After too many 401s, an address receives 429 instead of 401. Its requests with a valid credential are still accepted.

**Access**: an operation names the roles that may call it. You need one of them in the workspace that the request names, or else in the workspace of the resource, unless the operation names another place. Operations without either, such as lists, need the role in at least one workspace.

Every response has an \`X-Request-Id\`. The bearer token in \`Authorization\` is a JWT or an API key.`;

/**
 * Builds the OpenAPI 3.1 document of an application from its controllers and DTOs.
 *
 * @param baseUrl the server's URL. Clients resolve a relative URL against the URL of the document
 * @param mounted paths that are not routes of Nest
 */
export function buildDocument(
  app: INestApplication,
  baseUrl = '/',
  mounted: OpenAPIObject['paths'] = {},
): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(API_TITLE)
    .setVersion(API_VERSION)
    .setDescription(DESCRIPTION)
    .addServer(baseUrl)
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'bearer')
    .build();
  const generated = SwaggerModule.createDocument(app, config, {
    operationIdFactory: operationIdOf,
    // by default, a controller whose methods have the tags also adds its own name as a tag
    autoTagControllers: false,
    extraModels: [ProblemDto],
  });
  const { parameters } = app.get(PathNames, { strict: false });
  const named = withPlainSchemaNames(completeDocument(generated, mounted, parameters));
  const document = named as unknown as Document;
  completeSchemas(document);
  shareComponents(document);
  return named;
}
