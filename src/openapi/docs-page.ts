import path from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type Express, type RequestHandler, static as serveStatic } from 'express';

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

/** The files of the viewer's package that are served. */
const ASSETS = /^\/(swagger-ui\.css|swagger-ui-bundle\.js|favicon-(16x16|32x32)\.png)$/;

/** Serves the OpenAPI document as a page at /docs, using Swagger UI. All files come from this service. */
export function serveDocs(app: NestExpressApplication): void {
  const files = serveStatic(path.dirname(require.resolve('swagger-ui-dist/package.json')), {
    index: false,
    redirect: false,
    fallthrough: true,
    acceptRanges: false,
    maxAge: '1h',
  });
  const routes = app.getHttpAdapter().getInstance() as Express;
  routes.get('/docs', (_request, response) => {
    response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    response.type('html').send(PAGE);
  });
  routes.get('/docs/start.js', (_request, response) => {
    response.type('text/javascript').send(START);
  });
  const onlyAssets: RequestHandler = (request, response, next) =>
    ASSETS.test(request.path) ? files(request, response, next) : next();
  app.use('/docs/assets', onlyAssets);
}
