import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import {
  type ErasureBatch,
  ErasureItems,
  type ErasureRun,
  type ErasureStep,
  ErasureSteps,
} from '../../resources';
import type { TracePosition } from '../traces/trace.types';
import { ErasedTracesRepository } from './erased-traces.repository';

/** Traces per batch. */
const BATCH = 1_000;

/** Collects the traces of an end user or a session, and those that filters select. */
@Injectable()
export class TraceSelectionStep implements ErasureStep {
  readonly name = 'selected traces';
  readonly subjects = ['end_user', 'session', 'traces'] as const;
  readonly phase = 'select';

  constructor(
    steps: ErasureSteps,
    private readonly items: ErasureItems,
    private readonly traces: ErasedTracesRepository,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { subject, filters } = erasure;
    const after = cursor === null ? undefined : (JSON.parse(cursor) as TracePosition);
    // the traces that a request names are items already
    if (subject === 'traces' && filters === undefined) return ENDED;
    const refs = await this.traces.select(tx, erasure, BATCH, after);
    const ids = refs.map(({ trace_id }) => trace_id);
    await this.items.addIds(tx, erasure, 'trace', ids);
    if (subject === 'end_user') {
      const sessions = refs.flatMap(({ session_id }) => session_id ?? []);
      await this.items.addIds(tx, erasure, 'session', sessions);
    }
    const last = refs.at(-1);
    if (!last || refs.length < BATCH) return ENDED;
    const { trace_id, started_us } = last;
    return { counts: {}, next: JSON.stringify({ trace_id, started_us }) };
  }
}

const ENDED: ErasureBatch = { counts: {}, next: null };
