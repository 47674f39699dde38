import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Admission, checkIssuers } from '#platform/auth';
import type { Environment } from '#platform/config';
import { configureHttp, mountEndpoint, ServiceAdapter } from '#platform/http';
import { JsonLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { KeyRing } from '#platform/secrets';
import { ApiModule, type ApiOptions } from './api.module';
import { ApiProxyEndpoint, PROXY_PATHS, PROXY_PREFIX } from './api-proxy';
import { CALL_PATHS, CALL_OPERATIONS, GatewayEndpoint } from './model-gateway';
import { buildDocument, OpenApiSource, serveDocs } from './openapi';

/** Creates the API application, ready to listen. Throws if the configuration is invalid. */
export async function createApi(
  environment: Environment,
  options: ApiOptions = {},
): Promise<NestExpressApplication> {
  // an invalid configuration stops the start before any connection is opened
  await checkIssuers(environment);
  new KeyRing(environment); // checks the keys
  const adapter = new ServiceAdapter(environment.ANSWER_STALL_MS);
  const app = await NestFactory.create<NestExpressApplication>(
    ApiModule.forRoot(environment, options),
    adapter,
    { bodyParser: false, abortOnError: false, bufferLogs: true, logger: new JsonLogger() },
  );
  const admission = app.get(Admission);
  adapter.startWith((request, response, run) => admission.queue(request, response, run));
  configureHttp(app);
  mountEndpoint(app, PROXY_PREFIX, app.get(ApiProxyEndpoint));
  for (const path of CALL_PATHS.keys()) mountEndpoint(app, path, app.get(GatewayEndpoint));
  serveDocs(app, admission);
  app
    .get(OpenApiSource)
    .provide(() => buildDocument(app, environment.PUBLIC_URL, { ...PROXY_PATHS, ...CALL_OPERATIONS }));
  return app;
}

/** Initializes an application, and makes it listen. Throws a StartError if `HOST` or `PORT` cannot be used. */
export async function listen(app: NestExpressApplication, { HOST, PORT }: Environment): Promise<void> {
  try {
    await app.listen(PORT, HOST);
  } catch (error) {
    const { code, syscall, hostname, message } = error as NodeJS.ErrnoException & { hostname?: string };
    if (syscall !== 'listen' && hostname !== HOST) throw error;
    const detail =
      code === 'EADDRINUSE'
        ? `Port ${PORT} is in use; set PORT to another port.`
        : `The API cannot be served at HOST and PORT: ${message}.`;
    throw new StartError(detail, { cause: error });
  }
}
