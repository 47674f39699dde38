import { Injectable } from '@nestjs/common';
import { RawJson } from '#platform/json';
import { problem } from '#platform/problem';
import { JudgeBackends } from '../judges/judge-backends';
import { CannotJudge } from '../judges/judge-failure';
import { Judging } from '../judges/judging';
import { CodeEngine } from '../scorers/code-engine';
import { judgeBackendOf, type JudgeDefinition } from '../scorers/definitions/judge.definition';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import type { ScorerKind } from '../scorers/scorer.entity';
import { MAX_ERROR_LENGTH } from '../scorers/engine/limits';
import { itemOf, storable } from './scored-item';
import type { Scoring } from './scoring-terms';

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
    private readonly backends: JudgeBackends,
    private readonly judging: Judging,
  ) {}

  /** Throws 503 where the scorer needs a judge and none is configured. */
  checkBackend(scorer: RunnableScorer): void {
    if (scorer.scorer_kind === 'llm_judge') this.backends.require(judgeBackendOf(judgeOf(scorer)));
  }

  /** Throws 422 where nobody knows what the scorer costs, so that no bound on it could be held. */
  checkPrice(scorer: RunnableScorer): void {
    if (scorer.scorer_kind !== 'llm_judge') return;
    const definition = judgeOf(scorer);
    if (this.backends.require(judgeBackendOf(definition)).isPriced(definition)) return;
    const detail = 'cannot be held: the price of the judge’s model is not known (MODEL_PRICES)';
    throw problem.validationFailed([{ pointer: '/max_cost_usd', detail }]);
  }

  /** Exactly what would be run, or sent; or why nothing would. */
  async preview(scorer: RunnableScorer, subject: ScoringSubject): Promise<Preview> {
    if (scorer.scorer_kind !== 'llm_judge') {
      return {
        preview_request: { ...scorer.definition, subject: { ...subject, trace: subject.trace ?? null } },
      };
    }
    try {
      const { body, sha256 } = await this.judging.request(judgeOf(scorer), subject);
      return { preview_request: new RawJson(body), request_sha256: sha256 };
    } catch (error) {
      if (error instanceof CannotJudge) return { error: storable(error.message, MAX_ERROR_LENGTH) };
      throw error;
    }
  }

  /** Prepares the scoring of a target. */
  prepare(scorer: RunnableScorer, subject: ScoringSubject): Promise<Scoring> {
    return scorer.scorer_kind === 'llm_judge'
      ? this.judging.prepare({ ...scorer, definition: judgeOf(scorer) }, subject)
      : Promise.resolve(this.byCode(scorer, subject));
  }

  private byCode(scorer: RunnableScorer, subject: ScoringSubject): Scoring {
    return async ({ signal }) => {
      const begun = performance.now();
      const outcome = await this.engine.run(scorer.definition, subject, signal, scorer.workspace_id);
      return itemOf(outcome, performance.now() - begun);
    };
  }
}

/** What `preview` tells of one target. */
export type Preview = { preview_request: unknown; request_sha256?: string } | { error: string };

const judgeOf = ({ definition }: RunnableScorer): JudgeDefinition => definition as unknown as JudgeDefinition;
