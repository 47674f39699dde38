import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express, RequestHandler } from 'express';
import { type Admission, PUBLIC } from '#platform/auth';
import { CachedDocument, type ServiceRequest } from '#platform/http';
import { RELEASE } from '#platform/release';

const SCRIPT = 'text/javascript; charset=utf-8';

/** Allows scripts and styles of this service only. The viewer sets some styles inline. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>public API</title>
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png" sizes="32x32">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<main id="swagger-ui"></main>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `window.ui = SwaggerUIBundle({
  url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, filter: true, docExpansion: 'none',
  defaultModelsExpandDepth: 0, validatorUrl: null,
});
`;

/** The files of the viewer's package that are served, and their media types. */
const ASSETS = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': SCRIPT,
  'favicon-16x16.png': 'image/png',
  'favicon-32x32.png': 'image/png',
} as const;

/** The TypeScript client as npm installs it, which the build packs. */
const CLIENT = path.resolve(__dirname, '../../../clients/typescript/dist/agent-registry.tgz');
/** Where it is served: the client of this release, and the same one at an address that lock files can keep. */
const CLIENT_PATHS = ['', `-${RELEASE}`].map((suffix) => `/docs/clients/agent-registry${suffix}.tgz`);

/**
 * Serves the OpenAPI document as a page at /docs, using Swagger UI, and the clients below /docs/clients. All files come from
 * this service.
 */
export function serveDocs(app: NestExpressApplication, admission: Admission): void {
  const routes = app.getHttpAdapter().getInstance() as Express;
  const serve = (load: () => Promise<CachedDocument>) => handlerOf(admission, load);
  const folder = path.dirname(require.resolve('swagger-ui-dist/package.json'));
  routes.get(
    '/docs',
    serve(() =>
      CachedDocument.of(PAGE, 'text/html; charset=utf-8', {
        'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      }),
    ),
  );
  routes.get(
    '/docs/start.js',
    serve(() => CachedDocument.of(START, SCRIPT)),
  );
  for (const [name, type] of Object.entries(ASSETS)) {
    const load = async (): Promise<CachedDocument> =>
      CachedDocument.of(await readFile(path.join(folder, name)), type, {
        'Cache-Control': 'public, max-age=3600',
      });
    routes.get(`/docs/assets/${name}`, serve(load));
  }
  const loadClient = async (): Promise<CachedDocument> =>
    CachedDocument.of(await readFile(CLIENT), 'application/gzip', { 'Cache-Control': 'no-cache' });
  routes.get(CLIENT_PATHS, serve(loadClient));
}

/** Returns a handler that loads a document on its first request, and again if that fails. */
function handlerOf(admission: Admission, load: () => Promise<CachedDocument>): RequestHandler {
  let loading: Promise<CachedDocument> | undefined;
  return async (request, response) => {
    await admission.admit(request as unknown as ServiceRequest, response, PUBLIC);
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    const document = await loading;
    await document.send(request, response);
  };
}
