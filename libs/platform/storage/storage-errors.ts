import { Injectable } from '@nestjs/common';
import { type Counter, Metrics } from '#platform/metrics';
import { Problem } from '#platform/problem';

const OPERATIONS = ['check', 'read', 'write', 'delete'] as const;

/** What the storage was asked to do. `check` is the check of its marker at the start of a process. */
export type StorageOperation = (typeof OPERATIONS)[number];

/** Counts the operations that the storage failed, for alerts. Failures of clients and of the database do not count. */
@Injectable()
export class StorageErrors {
  private readonly errors: Counter<'operation'>;

  constructor(metrics: Metrics) {
    this.errors = metrics.counter('storage_errors_total', 'Failed operations on the storage of files.', [
      'operation',
    ]);
    for (const operation of OPERATIONS) this.errors.inc({ operation }, 0);
  }

  /** Runs an operation, and counts its failure. */
  async count<Result>(operation: StorageOperation, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      this.add(operation, error);
      throw error;
    }
  }

  /** Passes on the chunks of an operation, and counts its failure. */
  async *countAll<Chunk>(
    operation: StorageOperation,
    chunks: AsyncIterable<Chunk>,
  ): AsyncGenerator<Chunk, void, undefined> {
    try {
      yield* chunks;
    } catch (error) {
      this.add(operation, error);
      throw error;
    }
  }

  private add(operation: StorageOperation, error: unknown): void {
    if (error instanceof Problem && error.code === 'storage_unavailable') this.errors.inc({ operation });
  }
}
