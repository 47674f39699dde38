import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Environment } from '#platform/config';
import { configureHttp, ServiceAdapter } from '#platform/http';
import { JsonLogger } from '#platform/logging';
import { ApiModule } from './api.module';

/**
 * Makes the API application, ready to listen: for the process that serves it, and for tests. Errors of the
 * configuration are thrown, not printed.
 */
export async function createApi(environment: Environment): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    ApiModule.forRoot(environment),
    new ServiceAdapter(),
    { bodyParser: false, abortOnError: false, bufferLogs: true, logger: new JsonLogger() },
  );
  configureHttp(app);
  return app;
}
