import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { TraceContent, TraceContents } from '../../datasets';
import { TargetSelector } from '../target-selection/target-selector';
import { SubjectBuilder } from '../subjects/subject-builder';

/** Number of traces whose content is read together. Each may have 8 MiB. */
const CHUNK = 2;

/** Reads the input and output of traces as scorers see them. */
@Injectable()
export class TraceContentReader implements TraceContents {
  constructor(
    private readonly targets: TargetSelector,
    private readonly subjects: SubjectBuilder,
  ) {}

  checkIds(scope: Scope, trace_ids: string[]): Promise<void> {
    return this.targets.checkIds(scope, { trace_ids });
  }

  async *read(scope: Scope, traceIds: readonly string[]): AsyncGenerator<TraceContent, undefined> {
    const refs = traceIds.map((trace_id) => ({ trace_id, session_id: null }));
    const targets = await this.targets.withResults(scope, 'trace', refs);
    for await (const { target, trace, content } of this.subjects.readContents(scope, targets, CHUNK)) {
      yield { trace_id: target.trace_id!, trace, content };
    }
  }
}
