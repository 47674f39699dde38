import { Injectable } from '@nestjs/common';
import type { RawJson } from '#platform/json';
import { problem } from '#platform/problem';
import { CodeEngine } from '../scorers/code-engine';
import {
  type JudgeBackend as JudgeBackendName,
  judgeBackendOf,
} from '../scorers/definitions/judge.definition';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import type { ScorerKind } from '../scorers/scorer.entity';
import { JudgeBackends } from './judge-backends';
import { itemOf, type ScoredItem } from './scored-item';

/** A version of a scorer, ready to be run: its definition is parsed once for all targets. */
export interface RunnableScorer {
  scorer_id: string;
  scorer_version: number;
  workspace_id: string;
  name: string;
  scorer_kind: ScorerKind;
  definition: Record<string, unknown>;
}

export const runnable = (
  row: Omit<RunnableScorer, 'definition'> & { definition: RawJson },
): RunnableScorer => ({
  scorer_id: row.scorer_id,
  scorer_version: row.scorer_version,
  workspace_id: row.workspace_id,
  name: row.name,
  scorer_kind: row.scorer_kind,
  definition: row.definition.parse() as Record<string, unknown>,
});

/** 400 for a scorer of people, 409 for an archived one. */
export function checkRunnable(row: { scorer_kind: ScorerKind; archived_at: Date | null }): void {
  if (row.scorer_kind === 'human') {
    throw problem.invalidRequest('A scorer of the kind human is people, who cannot be run here.');
  }
  if (row.archived_at) throw problem.conflict('The scorer is archived and scores nothing any more.');
}

/** Scores one target, whatever the scorer's kind. */
@Injectable()
export class TargetScorer {
  constructor(
    private readonly engine: CodeEngine,
    private readonly judges: JudgeBackends,
  ) {}

  /** Throws 503 where the scorer needs a judge and none is configured. */
  checkBackend(scorer: RunnableScorer): void {
    if (scorer.scorer_kind === 'llm_judge') this.judges.require(backendOf(scorer));
  }

  /** Exactly what would be run, or sent. */
  preview(scorer: RunnableScorer, subject: ScoringSubject): unknown {
    if (scorer.scorer_kind !== 'llm_judge')
      return { ...scorer.definition, subject: { ...subject, trace: subject.trace ?? null } };
    return this.judges.require(backendOf(scorer)).preview(scorer.definition, subject);
  }

  /**
   * Scores a target. What the scorer fails at is the item's `error`. Throws the signal's reason when it is aborted, and
   * an Error where scoring is not possible at all at the moment.
   */
  async score(scorer: RunnableScorer, subject: ScoringSubject, signal: AbortSignal): Promise<ScoredItem> {
    const begun = performance.now();
    if (scorer.scorer_kind !== 'llm_judge') {
      const outcome = await this.engine.run(scorer.definition, subject, signal, scorer.workspace_id);
      return itemOf(outcome, performance.now() - begun);
    }
    const backend = this.judges.find(backendOf(scorer));
    if (!backend) return { error: 'No judge backend is configured any more.', elapsed_ms: 0 };
    return backend.judge(scorer.definition, subject, signal);
  }
}

const backendOf = ({ definition }: RunnableScorer): JudgeBackendName =>
  judgeBackendOf(definition as { backend?: JudgeBackendName });
