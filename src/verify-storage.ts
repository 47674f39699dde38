import './starting';
import 'reflect-metadata';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigModule, Environment, readEnvironment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/embedded-postgres';
import { logToStandardError, setLogLevel } from '#platform/logging';
import { printEnd, start, StartError } from '#platform/process';
import {
  ObjectStorage,
  StorageMark,
  StorageMarkRepository,
  storageOf,
  StorageVerificationRepository,
  StorageVerifier,
} from '#platform/storage';

/** Exit codes: bytes are missing; the comparison was not possible. */
const LOST = 1;
const FAILED = 2;

/** Codes of PostgreSQL for a table or a column that does not exist. */
const OTHER_SCHEMA = ['42P01', '42703'];

@Module({})
class VerifyStorageModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: VerifyStorageModule,
      imports: [ConfigModule.forRoot(environment), DatabaseModule.forRoot()],
      providers: [
        { provide: ObjectStorage, inject: [Environment], useFactory: storageOf },
        StorageMark,
        StorageMarkRepository,
        StorageVerificationRepository,
        StorageVerifier,
      ],
    };
  }
}

interface Options {
  hash: boolean;
  'delete-orphans': boolean;
  mark: boolean;
  force: boolean;
}

const printLine = (line: unknown): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** Writes to standard error, because standard output is for the findings. */
const printNote = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Compares the database with the storage, and prints each finding and a summary as lines of JSON to standard output. Exits with
 * 1 if bytes are missing. With `--mark`, gives a storage that lacks it the marker of this installation, unless bytes are missing.
 */
start(
  async () => {
    logToStandardError();
    const options = optionsOf(process.argv.slice(2));
    const environment = readEnvironment();
    setLogLevel(environment.LOG_LEVEL);
    const postgres = environment.DATABASE_URL ? null : await startEmbedded(environment);
    environment.DATABASE_URL ??= postgres!.url;
    try {
      const app = await connect(environment);
      try {
        process.exitCode = await verify(app, options);
      } finally {
        app.get(ObjectStorage).close();
        await app.close();
      }
    } finally {
      await postgres?.stop();
    }
  },
  (error) => {
    printEnd(error);
    process.exit(FAILED);
  },
);

function optionsOf(args: string[]): Options {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args,
    options: { hash: flag, 'delete-orphans': flag, mark: flag, force: flag },
  });
  if (values.mark && values['delete-orphans']) {
    throw new StartError('Run verify-storage with --mark first, and then again with --delete-orphans.');
  }
  return values;
}

async function startEmbedded({ DATA_DIR }: Environment): Promise<EmbeddedPostgres> {
  const dataDir = path.join(path.resolve(DATA_DIR), 'postgres');
  if (existsSync(dataDir)) return startEmbeddedPostgres({ dataDir, log: printNote });
  throw new StartError(
    `Set DATABASE_URL, or set DATA_DIR to the directory of an embedded database; ${dataDir} does not exist.`,
  );
}

async function connect(environment: Environment): Promise<INestApplicationContext> {
  try {
    return await NestFactory.createApplicationContext(VerifyStorageModule.forRoot(environment), {
      logger: false,
      abortOnError: false,
    });
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`The database cannot be used (${(error as Error).message}); check DATABASE_URL.`, {
      cause: error,
    });
  }
}

async function verify(app: INestApplicationContext, options: Options): Promise<number> {
  const [storage, mark] = [app.get(ObjectStorage), app.get(StorageMark)];
  try {
    const fault = await mark.findFault(storage, true);
    if (fault && (fault.kind === 'other' || !options.mark)) throw new StartError(fault.message);
    const checkStorage = async (): Promise<void> => {
      const now = await mark.findFault(storage, true);
      if (now?.kind === fault?.kind) return;
      throw new StartError(`The ${storage.name} changed during the comparison; run verify-storage again.`);
    };
    const result = await app
      .get(StorageVerifier)
      .verify(printLine, { checkStorage, hash: options.hash, deleteOrphans: options['delete-orphans'] });
    printLine({ summary: result });
    if (fault && (result.lost === 0 || options.force)) {
      await mark.accept(storage);
      printNote(`The ${storage.name} has the marker of this installation now.`);
    } else if (fault) {
      printNote(
        `The ${storage.name} was not marked, because bytes are missing. To accept that, add --force.`,
      );
    }
    return result.lost === 0 ? 0 : LOST;
  } catch (error) {
    throw describe(error, storage);
  }
}

/** Returns the error for the operator. */
function describe(error: unknown, { name }: ObjectStorage): unknown {
  const { code, message, cause } = error as Error & { code?: string };
  if (code === 'storage_unavailable') {
    return new StartError(
      `The ${name} cannot be read (${(cause as Error).message}); check STORAGE_URL, and that the storage is there.`,
      { cause: error },
    );
  }
  if (!OTHER_SCHEMA.includes(code ?? '')) return error;
  return new StartError(
    `The database lacks the schema of this release (${message}); run "agent-registry-service migrate" first.`,
    { cause: error },
  );
}
