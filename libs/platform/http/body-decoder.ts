import { createGunzip } from 'node:zlib';
import { Problem, problem } from '#platform/problem';
import { Base64Decoder } from './base64.decoder';
import type { HoldBytes } from './body-room';
import type { ContentCoding } from './content-coding';

/** At most so much is inflated at a time. */
const PIECE_BYTES = 64 * 1024;

type Taking = void | Promise<void>;

/** What bytes go through, one call at a time. A promise is kept before the next call. */
interface Step {
  write(bytes: Buffer): Taking;
  /** After the last bytes. */
  end(): Taking;
  /** Ends it before its end. */
  close(): void;
}

/**
 * Undoes the codings of a body as it arrives, the last applied first, and hands on what comes of it in pieces. Memory is
 * bounded, whatever the input. Errors, of `write` and `end`: 413 `compressed_payload_too_large` as soon as the output
 * passes `limit` bytes; 400 `invalid_request` for gzip that is corrupt, cut off or has something behind it; 400
 * `invalid_base64`.
 */
export class BodyDecoder {
  private readonly first: Step;
  private length = 0;

  /**
   * @param codings in the order in which they were applied
   * @param take is given each piece
   */
  constructor(
    codings: readonly ContentCoding[],
    limit: number,
    take: (bytes: Buffer) => void = () => undefined,
  ) {
    const output: Step = {
      write: (bytes) => {
        this.length += bytes.length;
        if (this.length > limit) throw tooLarge(limit);
        take(bytes);
      },
      end: () => undefined,
      close: () => undefined,
    };
    this.first = codings.reduce<Step>((next, coding) => STEPS[coding](next, limit), output);
  }

  /** Bytes of the output so far. */
  get size(): number {
    return this.length;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.first.write(bytes);
  }

  async end(): Promise<void> {
    await this.first.end();
  }

  /** To be called in the end, also after an error. */
  close(): void {
    this.first.close();
  }
}

/**
 * Undoes the codings of a body that is there as a whole. Errors as of `BodyDecoder`.
 *
 * @param pieces that it consists of
 * @param hold is told of what comes of it, piece by piece; what it throws ends the decoding
 */
export async function undoCodings(
  pieces: readonly Buffer[],
  codings: readonly ContentCoding[],
  limit: number,
  hold: HoldBytes = () => undefined,
): Promise<Buffer> {
  const decoded: Buffer[] = [];
  const decoder = new BodyDecoder(codings, limit, (bytes) => {
    hold(bytes.length);
    decoded.push(bytes);
  });
  try {
    for (const piece of pieces) await decoder.write(piece);
    await decoder.end();
  } finally {
    decoder.close();
  }
  return decoded.length === 1 ? decoded[0]! : Buffer.concat(decoded, decoder.size);
}

/** How many bytes a body may have as it is sent, for at most `limit` of them to come of it. */
export const sentLimit = (limit: number, codings: readonly ContentCoding[]): number =>
  codings.includes('base64') ? base64Limit(limit) : limit;

/** base64 makes four bytes of three; the rest is for its lines. */
const base64Limit = (limit: number): number => Math.ceil((limit * 3) / 2);

const STEPS: Record<ContentCoding, (next: Step, limit: number) => Step> = {
  gzip: (next) => new GunzipStep(next),
  base64: (next, limit) => new Base64Step(next, limit),
};

class Base64Step implements Step {
  private readonly decoder = new Base64Decoder();
  private taken = 0;

  constructor(
    private readonly next: Step,
    private readonly limit: number,
  ) {}

  write(bytes: Buffer): Taking {
    this.taken += bytes.length;
    // line breaks without end decode to nothing
    if (this.taken > base64Limit(this.limit)) throw tooLarge(this.limit);
    const decoded = this.decoder.decode(bytes);
    return decoded.length > 0 ? this.next.write(decoded) : undefined;
  }

  end(): Taking {
    this.decoder.end();
    return this.next.end();
  }

  close(): void {
    this.next.close();
  }
}

class GunzipStep implements Step {
  private readonly gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  private failure: Error | undefined;
  private given = 0;
  private hasEnded = false;
  private wake: () => void = () => undefined;

  constructor(private readonly next: Step) {
    this.gunzip
      .on('data', (bytes: Buffer) => this.handOn(bytes))
      .on('end', () => {
        this.hasEnded = true;
        this.wake();
      })
      .on('error', (error) =>
        this.fail(problem.invalidRequest('The body is not complete gzip data.', { cause: error })),
      );
  }

  write(bytes: Buffer): Promise<void> {
    this.given += bytes.length;
    return this.until((wake) => this.gunzip.write(bytes, wake));
  }

  async end(): Promise<void> {
    await this.until((wake) => {
      this.gunzip.end();
      if (this.hasEnded) wake();
    });
    // zlib leaves zeros behind the last member, and what follows them, without a word
    if (this.gunzip.bytesWritten !== this.given) {
      throw problem.invalidRequest('The body has something behind its gzip data that is none.');
    }
    await this.next.end();
  }

  close(): void {
    this.gunzip.destroy();
    this.next.close();
  }

  private handOn(bytes: Buffer): void {
    try {
      const taking = this.next.write(bytes);
      if (!taking) return;
      this.gunzip.pause();
      taking.then(
        () => this.gunzip.resume(),
        (error: unknown) => this.fail(error as Error),
      );
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.gunzip.destroy();
    this.wake();
  }

  /** Begins something, and waits until it is done, or nothing will come of it any more. */
  private async until(begin: (wake: () => void) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      if (this.failure) resolve();
      else begin(() => resolve());
    });
    if (this.failure) throw this.failure;
  }
}

const tooLarge = (limit: number): Problem =>
  new Problem(
    'compressed_payload_too_large',
    `The body may have at most ${limit} bytes once its codings are undone.`,
  );
