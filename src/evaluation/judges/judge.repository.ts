import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { Database, DELETE_BATCH, deleteInBatches, empty, join, prepared, sql } from '#platform/db';
import { type RawJson, toJsonText, toRawJson } from '#platform/json';
import { rootLogger } from '#platform/logging';
import type { PinnedScorer } from '../scorers';
import type { Judgement } from './judge-backend';

/** A version of a scorer, and its workspace. */
type ScorerVersion = PinnedScorer & { workspace_id: string };

/** A cached answer. */
interface CachedAnswer {
  judgement: Judgement;
  /** The target of the run that paid for the answer; null without a run. */
  targetKey: string | null;
}

/** The cached answers to a question, by sample number from 0. */
export interface CachedAnswers {
  bySample: ReadonlyMap<number, CachedAnswer>;
  /** The digest of the judge that gave the newest score of the scorer version; null without scores. */
  newestDigest: string | null;
}

/**
 * The features that a server of chat completions supports. They are learned from its refusals, because servers do not list
 * them.
 */
export interface ChatFeatures {
  /** How the server enforces JSON. */
  responseFormat: 'json_schema' | 'json_object' | 'none';
  /** Returns the log probabilities of tokens. */
  logprobs: boolean;
  /** The parameter that limits the length of an answer. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Accepts a temperature other than its default. */
  temperature: boolean;
}

/** The features that are tried first with a server. */
export const ALL_FEATURES: ChatFeatures = {
  responseFormat: 'json_schema',
  logprobs: true,
  maxTokens: 'max_tokens',
  temperature: true,
};

/** How long a process uses the features that it last read, in ms. */
const FEATURES_MS = 5_000;

/** Stores the answers of judges, and the features of their servers, which all workspaces share. */
@Injectable()
export class JudgeRepository {
  private readonly features = new LoadingCache<ChatFeatures>({ lifetimeMs: FEATURES_MS });

  constructor(private readonly database: Database) {}

  /** Returns the cached answers to the first samples of a question (see `JudgeRequest`). */
  async findAnswers(
    { workspace_id, scorer_id, scorer_version }: ScorerVersion,
    questionSha256: string,
    samples: number,
  ): Promise<CachedAnswers> {
    const rows = await this.database.query<
      { sample: number; judgement: RawJson } & Pick<CachedAnswer, 'targetKey'> &
        Pick<CachedAnswers, 'newestDigest'>
    >(
      prepared(
        'judge-answer.find',
        sql`SELECT sample, judgement, target_key AS "targetKey", (
              SELECT judge_digest FROM scores
              WHERE workspace_id = ${workspace_id} AND scorer_id = ${scorer_id}
                AND scorer_version = ${scorer_version} AND judge_digest IS NOT NULL
              ORDER BY score_id DESC LIMIT 1) AS "newestDigest"
          FROM judge_answers
          WHERE workspace_id = ${workspace_id} AND scorer_id = ${scorer_id}
            AND scorer_version = ${scorer_version} AND question_sha256 = ${questionSha256} AND sample < ${samples}`,
      ),
    );
    const bySample = new Map(
      rows.map(({ sample, judgement, targetKey }) => [
        sample,
        { judgement: judgement.parse() as Judgement, targetKey },
      ]),
    );
    return { bySample, newestDigest: rows[0]?.newestDigest ?? null };
  }

  /**
   * Caches the answer to a sample of a question, so that it is not paid for twice. Caches nothing about a target that was deleted
   * or erased in the meantime. Locks the run before the target, as a deletion does, which then finds the answer.
   */
  async saveAnswer(
    { workspace_id, scorer_id, scorer_version }: ScorerVersion,
    questionSha256: string,
    sample: number,
    { judgement, targetKey }: CachedAnswer,
  ): Promise<void> {
    const key = [workspace_id, scorer_id, scorer_version, questionSha256, sample];
    const [runId, ordinal] = targetKey?.split(':') ?? [];
    const source = runId
      ? sql`FROM score_runs r JOIN score_targets t USING (score_run_id)
          WHERE r.score_run_id = ${runId} AND r.workspace_id = ${workspace_id} AND t.ordinal = ${Number(ordinal)}
            AND NOT t.is_erased
          FOR KEY SHARE OF r FOR SHARE OF t`
      : empty;
    await this.database.query(
      prepared(
        runId ? 'judge-answer.save' : 'judge-answer.save-without-run',
        sql`INSERT INTO judge_answers (workspace_id, scorer_id, scorer_version, question_sha256, sample, judgement,
                                       target_key)
          SELECT ${join(key)}, ${toRawJson(judgement)}::json, ${targetKey}::text ${source}
          ON CONFLICT (workspace_id, scorer_id, scorer_version, question_sha256, sample)
          DO UPDATE SET judgement = excluded.judgement, target_key = excluded.target_key, created_at = now()`,
      ),
    );
  }

  /** Deletes the answers older than this many days. */
  deleteOldAnswers(days: number): Promise<void> {
    return deleteInBatches(
      this.database,
      sql`WITH old AS (
          SELECT ctid FROM judge_answers WHERE created_at < now() - ${days}::float8 * interval '1 day'
          LIMIT ${DELETE_BATCH}
        ), deleted AS (
          DELETE FROM judge_answers WHERE ctid IN (SELECT ctid FROM old) RETURNING 1
        ) SELECT count(*)::integer AS deleted FROM deleted`,
    );
  }

  /**
   * Returns the features of a model. All processes share them, so that a preview shows what would be sent. They expire
   * after a day, because servers gain features.
   */
  featuresOf(model: string): Promise<ChatFeatures> {
    return this.features.find(model, async () => {
      const [row] = await this.database.query<{ features: ChatFeatures }>(
        prepared(
          'judge-features.find',
          sql`SELECT features FROM judge_features WHERE model = ${model} AND learned_at > now() - interval '1 day'`,
        ),
      );
      return row?.features ?? ALL_FEATURES;
    });
  }

  /** Stores the features of a request that a model has answered. If that fails, the model refuses the next request again. */
  async learnFeatures(model: string, features: ChatFeatures): Promise<void> {
    try {
      await this.database.query(
        sql`INSERT INTO judge_features (model, features) VALUES (${model}, ${toJsonText(features)})
          ON CONFLICT (model) DO UPDATE SET features = excluded.features, learned_at = now()`,
      );
      this.features.invalidate(model);
    } catch (error) {
      rootLogger.warn({ err: error, model }, 'the features of a judge could not be stored');
    }
  }

  /** Deletes features that are too old to be used. */
  async deleteOldFeatures(): Promise<void> {
    await this.database.query(sql`DELETE FROM judge_features WHERE learned_at < now() - interval '1 day'`);
  }
}
