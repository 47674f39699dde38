import { Injectable } from '@nestjs/common';
import { RawJson } from '#platform/json';
import { problem } from '#platform/problem';
import { PromptError, JudgeBackends, JudgeService, type Scoring } from '../../judges';
import {
  CodeEngine,
  type JudgeDefinition,
  type ScoringSubject,
  type ScorerKind,
  MAX_ERROR_LENGTH,
} from '../../scorers';
import { itemOf, storable } from '../../scores';

/** A version of a scorer with its definition parsed. */
export interface RunnableScorer {
  scorer_id: string;
  scorer_version: number;
  workspace_id: string;
  name: string;
  scorer_kind: ScorerKind;
  definition: Record<string, unknown>;
}

/** Parses the definition of a version of a scorer, once for all targets. */
export const toRunnable = (
  row: Omit<RunnableScorer, 'definition'> & { definition: RawJson },
): RunnableScorer => ({
  scorer_id: row.scorer_id,
  scorer_version: row.scorer_version,
  workspace_id: row.workspace_id,
  name: row.name,
  scorer_kind: row.scorer_kind,
  definition: row.definition.parse() as Record<string, unknown>,
});

/** Checks that a scorer can be run. Errors: 400 for a human scorer, 409 for an archived one. */
export function checkRunnable(row: { scorer_kind: ScorerKind; archived_at: Date | null }): void {
  if (row.scorer_kind === 'human') {
    throw problem.invalidRequest(
      'Scorers of kind `human` cannot be run. Record scores with `POST /eval/v1/scores`.',
    );
  }
  if (row.archived_at) throw problem.conflict('The scorer is archived. Restore it before you run it.');
}

/** Scores one target, with a scorer of kind `code` or `llm_judge`. */
@Injectable()
export class TargetScorer {
  constructor(
    private readonly engine: CodeEngine,
    private readonly backends: JudgeBackends,
    private readonly judges: JudgeService,
  ) {}

  /** Checks that the judge backend of a scorer is configured. Errors: 503 if it is not. */
  async checkBackend(scorer: RunnableScorer): Promise<void> {
    if (scorer.scorer_kind === 'llm_judge') await this.backends.require(judgedOf(scorer));
  }

  /** Tells whether a cost limit can be enforced. False for a judge whose model has no price. Errors: 503 without its backend. */
  async isPriced(scorer: RunnableScorer): Promise<boolean> {
    if (scorer.scorer_kind !== 'llm_judge') return true;
    const backend = await this.backends.require(judgedOf(scorer));
    return backend.isPriced(judgeOf(scorer));
  }

  /**
   * Checks that a cost limit can be enforced. Errors: 422 for a judge whose model has no price.
   *
   * @param pointer JSON pointer to the member with the limit
   */
  async checkPrice(scorer: RunnableScorer, pointer: string): Promise<void> {
    if (await this.isPriced(scorer)) return;
    const detail =
      'cannot be enforced, because the model of the judge has no price. Set MODEL_PRICES, or `price` in the targets of a gateway model, or omit this member.';
    throw problem.validationFailed([{ pointer, detail }]);
  }

  /** Returns exactly what would be run or sent to the judge, or the error that prevents it. */
  async preview(scorer: RunnableScorer, subject: ScoringSubject): Promise<Preview> {
    if (scorer.scorer_kind !== 'llm_judge') {
      return {
        preview_request: { ...scorer.definition, subject: { ...subject, trace: subject.trace ?? null } },
      };
    }
    try {
      const { body, sha256 } = await this.judges.preview(judgedOf(scorer), subject);
      return { preview_request: new RawJson(body), request_sha256: sha256 };
    } catch (error) {
      if (error instanceof PromptError) return { error: storable(error.message, MAX_ERROR_LENGTH) };
      throw error;
    }
  }

  /** Prepares the scoring of one target. The result does not reference the subject if a judge scores it. */
  prepare(scorer: RunnableScorer, subject: ScoringSubject): Promise<Scoring> {
    return scorer.scorer_kind === 'llm_judge'
      ? this.judges.prepare(judgedOf(scorer), subject)
      : Promise.resolve(this.prepareCode(scorer, subject));
  }

  private prepareCode(scorer: RunnableScorer, subject: ScoringSubject): Scoring {
    return async ({ owner, signal }) => {
      const start = performance.now();
      const outcome = await this.engine.run(scorer.definition, subject, signal, owner);
      return itemOf(outcome, performance.now() - start);
    };
  }
}

/** The preview of one target. */
export type Preview = { preview_request: unknown; request_sha256?: string } | { error: string };

const judgedOf = (scorer: RunnableScorer): RunnableScorer & { definition: JudgeDefinition } => ({
  ...scorer,
  definition: judgeOf(scorer),
});

const judgeOf = ({ definition }: RunnableScorer): JudgeDefinition => definition as unknown as JudgeDefinition;
