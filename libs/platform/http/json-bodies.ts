import { Injectable, Module } from '@nestjs/common';
import type { Owner } from '#platform/concurrency';
import { INLINE_JSON_MAX, JsonInputError, type Outline, parseJson } from '#platform/json';
import { JsonThreads, JsonThreadsModule } from '#platform/json-threads';
import { outlineOf } from './body-outline';
import type { Constructor } from './members';
import { invalidJson, validateBody } from './validation.pipe';

const WHOLE: Outline = { kind: 'whole' };
const FREE_FORM: Outline = { kind: 'freeForm' };

/**
 * Parses JSON bodies: up to 256 KiB at once, and larger ones in threads. A free-form member is a `RawJson`, which services
 * store verbatim, if the body is large or JavaScript would change the value.
 */
@Injectable()
export class JsonBodies {
  constructor(private readonly threads: JsonThreads) {}

  /**
   * Parses a body. Throws 400 with a pointer to the invalid place, and the errors of `JsonThreads`.
   *
   * @param bytes cannot be used afterwards
   * @param type the DTO that the body will be validated against. Without one, all members of a large body are parsed
   */
  async parse(owner: Owner, signal: AbortSignal, bytes: Buffer, type?: Constructor): Promise<unknown> {
    if (bytes.length <= INLINE_JSON_MAX) return parseBody(bytes, type);
    try {
      return await this.threads.parse(owner, signal, bytes, type ? outlineOf(type) : WHOLE);
    } catch (error) {
      throw error instanceof JsonInputError ? invalidJson(error) : error;
    }
  }

  /** Parses and validates a body. */
  async read<Dto extends object>(
    owner: Owner,
    signal: AbortSignal,
    bytes: Buffer,
    type: new () => Dto,
  ): Promise<Dto> {
    return validateBody(type, await this.parse(owner, signal, bytes, type));
  }
}

/**
 * Parses a small JSON body. Throws 400 with a pointer to the invalid place.
 *
 * @param type the DTO that the body will be validated against. Without one, all members are typed
 */
export function parseBody(bytes: Buffer, type?: Constructor): unknown {
  return orProblem(() => parseJson(bytes, type && outlineOf(type)));
}

/** Parses a small free-form value. Throws 400 with a pointer to the invalid place. */
export function parseFreeForm(bytes: Buffer): unknown {
  return orProblem(() => parseJson(bytes, FREE_FORM));
}

function orProblem(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    throw error instanceof JsonInputError ? invalidJson(error) : error;
  }
}

@Module({ imports: [JsonThreadsModule], providers: [JsonBodies], exports: [JsonBodies] })
export class JsonBodiesModule {}
