import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, prepared, sql } from '#platform/db';
import type { CalledModel, CalledTarget } from './model-directory';

/** The state of a target that has failed. */
export interface TargetFailure {
  model_id: string;
  /** The failure no longer counts once the model has another generation. */
  model_generation: number;
  provider_id: string;
  upstream_model: string;
  last_error_at: Date;
  /** Whether the target has been put into cooldown, and has not answered since. */
  is_cooling_down: boolean;
}

/** Stores the last failures of targets, so that all processes and lists know which targets are in cooldown. */
@Injectable()
export class TargetFailureRepository {
  constructor(private readonly database: Database) {}

  /** Returns the failures of targets of models, without those from before the provider was changed. */
  find(scope: OrgScope, modelIds: readonly string[]): Promise<TargetFailure[]> {
    return this.database.query<TargetFailure>(
      sql`SELECT f.model_id, f.model_generation, f.provider_id, f.upstream_model, f.last_error_at,
          f.rests_until IS NOT NULL AS is_cooling_down
        FROM model_target_failures f
        WHERE f.model_id = ANY (${[...modelIds]}::text[]) AND f.provider_generation =
          (SELECT generation FROM model_providers p
            WHERE p.provider_id = f.provider_id AND p.org_id = ${scope.orgId})
        ORDER BY f.model_id, f.provider_id, f.upstream_model`,
    );
  }

  /** Stores a failure of a target, which starts a cooldown of some seconds, or none for 0. */
  async put(
    model: CalledModel,
    { provider, upstream_model }: CalledTarget,
    restSeconds: number,
  ): Promise<void> {
    const rests_until = sql`CASE WHEN ${restSeconds} > 0 THEN now() + ${restSeconds} * interval '1 second' END`;
    await this.database.query(
      prepared(
        'model-target-failure.put',
        sql`INSERT INTO model_target_failures AS f (model_id, provider_id, upstream_model, model_generation,
            provider_generation, last_error_at, rests_until)
          VALUES (${model.model_id}, ${provider.provider_id}, ${upstream_model}, ${model.generation},
            ${provider.generation}, now(), ${rests_until})
          ON CONFLICT (model_id, provider_id, upstream_model) DO UPDATE SET
            model_generation = excluded.model_generation, provider_generation = excluded.provider_generation,
            last_error_at = excluded.last_error_at,
            rests_until = CASE
              WHEN excluded.rests_until IS NULL AND f.model_generation = excluded.model_generation
                AND f.provider_generation = excluded.provider_generation THEN f.rests_until
              ELSE excluded.rests_until END
            -- a call that began before a change may fail after a newer one
            WHERE f.model_generation <= excluded.model_generation
              AND f.provider_generation <= excluded.provider_generation`,
      ),
    );
  }

  /** Ends the cooldown of a target. */
  async endRest({ model_id }: CalledModel, { provider, upstream_model }: CalledTarget): Promise<void> {
    await this.database.query(
      sql`UPDATE model_target_failures SET rests_until = NULL
        WHERE model_id = ${model_id} AND provider_id = ${provider.provider_id} AND upstream_model = ${upstream_model}
          AND rests_until IS NOT NULL`,
    );
  }
}
