import { Injectable, Module } from '@nestjs/common';
import type { Owner } from '#platform/concurrency';
import { INLINE_JSON_MAX, JsonInputError, parseJson } from '#platform/json';
import { JsonThreads, JsonThreadsModule, type Outline } from '#platform/json-threads';
import { type Problem, problem } from '#platform/problem';
import { outlineOf } from './body-outline';
import type { Constructor } from './members';
import { validateBody } from './validation.pipe';

const WHOLE: Outline = { kind: 'whole' };

/**
 * Parses JSON bodies: up to 256 KiB at once, and larger ones in threads. Free-form members of a large body are a `RawJson`,
 * which services store as it is.
 */
@Injectable()
export class JsonBodies {
  constructor(private readonly threads: JsonThreads) {}

  /**
   * Parses a body. Throws 400 with a pointer to the invalid place, and what `JsonThreads` throws.
   *
   * @param bytes cannot be used afterwards
   * @param type the DTO that the body will be validated against. Without one, a large body is returned as a whole
   */
  async parse(owner: Owner, signal: AbortSignal, bytes: Buffer, type?: Constructor): Promise<unknown> {
    if (bytes.length <= INLINE_JSON_MAX) return parseBody(bytes);
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

/** Parses a small JSON body. Throws 400 with a pointer to the invalid place. */
export function parseBody(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw error instanceof JsonInputError ? invalidJson(error) : error;
  }
}

const invalidJson = ({ pointer, detail }: JsonInputError): Problem =>
  problem.invalidRequest(detail, { errors: [{ pointer, detail }] });

@Module({ imports: [JsonThreadsModule], providers: [JsonBodies], exports: [JsonBodies] })
export class JsonBodiesModule {}
