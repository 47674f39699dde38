import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { checkIssuers } from '#platform/auth';
import type { Environment } from '#platform/config';
import { configureHttp, ServiceAdapter } from '#platform/http';
import { JsonLogger } from '#platform/logging';
import { checkSecretsKey } from '#platform/secrets';
import { ApiModule } from './api.module';
import { buildDocument, OpenApiSource, serveDocs } from './openapi';

export interface ApiOptions {
  /** Also loads the worker's modules. */
  withWorker?: boolean;
  /** Additional modules with controllers. */
  areas?: readonly Type[];
}

/** Creates the API application, ready to listen. Throws if the configuration is invalid. */
export async function createApi(
  environment: Environment,
  { withWorker = false, areas = [] }: ApiOptions = {},
): Promise<NestExpressApplication> {
  // an invalid configuration stops the start before any connection is opened
  await checkIssuers(environment);
  checkSecretsKey(environment);
  const app = await NestFactory.create<NestExpressApplication>(
    ApiModule.forRoot(environment, withWorker, areas),
    new ServiceAdapter(environment.REQUEST_TIMEOUT_MS),
    { bodyParser: false, abortOnError: false, bufferLogs: true, logger: new JsonLogger() },
  );
  configureHttp(app);
  serveDocs(app);
  app.get(OpenApiSource).provide(() => buildDocument(app, environment.PUBLIC_URL));
  return app;
}
