import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { MetricsModule } from '#platform/metrics';
import { Database } from './database';
import { FairPool } from './fair-pool';
import { PoolMetrics } from './pool.metrics';
import { parserOf } from './type-parsers';
import { WatchedClient } from './watched-client';

/**
 * Planner settings of every connection. Each statement has an index to use, but the planner would prefer to scan a table
 * that looks small, and a prepared statement would keep that plan while the table grows. JIT is off because, without
 * sequential scans, a scan that has no alternative looks so expensive that PostgreSQL would compile it.
 */
const PLANNER = '-c enable_seqscan=off -c jit=off';

/** Adds the settings to the options of a URL, because the driver prefers those over its own. */
function withPlanner(text: string): string {
  const url = new URL(text);
  const own = url.searchParams.get('options');
  url.searchParams.set('options', own === null ? PLANNER : `${own} ${PLANNER}`);
  return url.href;
}

/** How long after the deadline of its request a statement may still run, in milliseconds. */
const AFTER_DEADLINE_MS = 500;

/** Options of the one data source. The pool reads `json` as `RawJson` and `int8` as numbers. */
function dataSourceOptions(url: string, environment: Environment): DataSourceOptions {
  return {
    type: 'postgres',
    driver: { ...pg, Pool: FairPool },
    url: withPlanner(url),
    poolSize: environment.DATABASE_POOL_SIZE,
    connectTimeoutMS: environment.DATABASE_CONNECTION_TIMEOUT_MS,
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    applicationName: 'agent-registry-service',
    poolErrorHandler: (error: unknown) => rootLogger.warn({ err: error }, 'lost an idle database connection'),
    extra: {
      Client: WatchedClient,
      types: { getTypeParser: parserOf },
      // expires after the deadline of the request, which returns a better error
      statement_timeout: environment.REQUEST_TIMEOUT_MS + AFTER_DEADLINE_MS,
      lock_timeout: environment.LOCK_TIMEOUT_MS,
      idle_in_transaction_session_timeout: environment.REQUEST_TIMEOUT_MS * 2,
      keepAlive: true,
    },
  };
}

/** Provides `Database`, and TypeORM below it, on the database of `DATABASE_URL`. */
@Module({})
export class DatabaseModule {
  static forRoot(): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        MetricsModule,
        TypeOrmModule.forRootAsync({
          inject: [Environment],
          useFactory: (environment: Environment) => {
            if (!environment.DATABASE_URL) throw new Error('DATABASE_URL is required.');
            return {
              ...dataSourceOptions(environment.DATABASE_URL, environment),
              autoLoadEntities: true,
              retryAttempts: 1,
            };
          },
        }),
      ],
      providers: [Database, PoolMetrics],
      exports: [Database],
    };
  }
}
