import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import type { ErasedCounts, ErasureSubject } from './erasure.entity';

/** An erasure while it runs, in one workspace. */
export interface ErasureRun {
  readonly erasureId: string;
  readonly orgId: string;
  readonly workspaceId: string;
  readonly subject: ErasureSubject;
  /** Whether the workspace is erased with its whole organization. */
  readonly isOfOrg: boolean;
  /** The id of the subject. For `traces`, a random text. */
  readonly id: string;
  /** For `traces`: the filters that select them. Absent for traces that are given by id, which are erasure items. */
  readonly filters?: unknown;
  /** For `traces`: whether those in use are erased too. */
  readonly isForced: boolean;
  /** Data that arrived after this time is new data. */
  readonly requestedAt: Date;
  readonly isDryRun: boolean;
}

/** What one batch of a step did. */
export interface ErasureBatch {
  /** Rows that the batch erased, or would erase. Later batches add to them. */
  counts: ErasedCounts;
  /** Passed to the next batch; null if the step has ended. Holds nothing that is erased. */
  next: string | null;
  /** Whether the step waits for others, so that the next batch can wait for half a second. */
  isWaiting?: boolean;
}

/**
 * The phases of an erasure in a workspace. Steps of one phase run in the order in which they were added, so only those of one
 * area may depend on each other.
 *
 * - `prepare` closes the doors, so that no data of the subject arrives any more
 * - `select` adds the ids of the subject's traces and sessions to `ErasureItems`. It also runs in a dry run
 * - `collect` adds the ids of the data that was made from them. It also runs in a dry run
 * - `erase` erases rows
 * - `tables` erases what is left of a workspace
 * - `copies` erases copies of the erased data, such as responses that are kept for a repeat
 */
export const ERASURE_PHASES = ['prepare', 'select', 'collect', 'erase', 'tables', 'copies'] as const;

/**
 * Erases one kind of rows. The area that owns the rows provides the step, and adds it to `ErasureSteps` in the worker.
 * Batches are repeated after a crash, so a step must find what is left: usually by a condition that erased rows no longer
 * meet.
 */
export interface ErasureStep {
  /** Unique, such as `dataset records`. */
  readonly name: string;
  readonly subjects: readonly ErasureSubject[];
  readonly phase: (typeof ERASURE_PHASES)[number];

  /**
   * Erases at most about a thousand rows, in one short transaction that blocks no writer for long. In a dry run, only counts.
   *
   * @param cursor `next` of the batch before; null for the first
   */
  run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch>;
}

/** The steps of erasures. */
@Injectable()
export class ErasureSteps {
  private readonly steps: ErasureStep[] = [];

  /** Adds a step. Each step calls this in its constructor. */
  add(step: ErasureStep): void {
    if (this.steps.some(({ name }) => name === step.name))
      throw new Error(`Two steps are named ${step.name}.`);
    this.steps.push(step);
  }

  /** Returns the steps for a kind of subject, in the order of their phases. */
  of(subject: ErasureSubject): ErasureStep[] {
    return ERASURE_PHASES.flatMap((phase) =>
      this.steps.filter((step) => step.phase === phase && step.subjects.includes(subject)),
    );
  }
}
