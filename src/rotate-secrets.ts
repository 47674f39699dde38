import './starting';
import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigModule, type Environment, readEnvironment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { KeyRotation, KeyRotationModule } from '#platform/key-rotation';
import { logToStandardError, setLogLevel } from '#platform/logging';
import { printEnd, start } from '#platform/process';
import { KeyRing } from '#platform/secrets';
import { migrate } from './database/migrate';
import { SEALED_COLUMNS } from './sealed-columns';

@Module({})
class RotateSecretsModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: RotateSecretsModule,
      imports: [ConfigModule.forRoot(environment), DatabaseModule.forRoot(), KeyRotationModule],
    };
  }
}

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const report = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Re-encrypts all stored secrets with the newest key of `SECRETS_KEYS`, while the other processes run. Writes one line of JSON
 * for each column to standard output, and at the end the key in use and the keys that can be removed from `SECRETS_KEYS`.
 */
start(async () => {
  logToStandardError();
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  const { ids } = new KeyRing(environment);
  await migrate(environment.DATABASE_URL, {
    onWait: (seconds) => report(`waiting for another process that migrates the database (${seconds} s)`),
  });
  const app = await NestFactory.createApplicationContext(RotateSecretsModule.forRoot(environment), {
    logger: false,
    abortOnError: false,
  });
  try {
    const key = await app.get(KeyRotation, { strict: false }).run({
      columns: SEALED_COLUMNS,
      onColumn: print,
      onWait: ({ length }) =>
        report(`waiting for ${length} processes that do not seal with the newest key yet`),
    });
    print({ key, removable_keys: ids.filter((id) => id !== key) });
  } finally {
    await app.close();
  }
}, printEnd);
