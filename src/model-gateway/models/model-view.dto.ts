import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { AnyJsonObject, viewOf } from '#platform/http';
import type { Page, PageMetaDto } from '#platform/paging';
import { PlacedDto } from '../../resources';
import { UsdProperty } from '../budgets/budget.dto';
import { PROVIDER_KINDS } from '../providers/provider.entity';
import type { ModelTargetViewDto } from './model-target.dto';
import { type ModelEntity, type ModelTarget, STRATEGIES, type Strategy } from './model.entity';
import type { TargetFailure } from './target-failure.repository';

/** A model in the format of the OpenAI API. */
export class ListedModelDto {
  /** The name of the model. Clients send it as `model`. */
  id!: string;
  @ApiProperty({ enum: ['model'] })
  object!: 'model';
  /** The time when the model was created, in seconds since 1970. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  created!: number;
  /** The kind of the first target's provider. */
  @ApiProperty({ enum: PROVIDER_KINDS })
  owned_by!: string;
}

/** A model that clients call by its name. `id`, `object`, `created` and `owned_by` are for OpenAI's clients. */
export class ModelDto extends IntersectionType(PlacedDto, ListedModelDto) {
  model_id!: string;
  name!: string;
  description!: string | null;
  @ApiProperty({ enum: STRATEGIES })
  strategy!: Strategy;
  targets!: ModelTargetViewDto[];
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  retries!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  timeout_ms!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  cooldown_s!: number;
  @UsdProperty({ nullable: true })
  monthly_budget_usd!: number | null;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  cache_ttl_seconds!: number | null;
  capture_content!: boolean;
  record_spans!: boolean;
  @AnyJsonObject()
  metadata!: object;
}

/** A page of models. `object` and `data` are for OpenAI's clients. */
export class ModelPageDto {
  items!: ModelDto[];
  page!: PageMetaDto;
  @ApiProperty({ enum: ['list'] })
  object!: 'list';
  /** The models on this page, one entry per name. */
  data!: ListedModelDto[];
}

const toListedModel = (row: ModelEntity): ListedModelDto => ({
  id: row.name,
  object: 'model',
  created: Math.floor(row.created_at.getTime() / 1000),
  owned_by: row.owned_by,
});

const viewOfModel = viewOf(ModelDto, (row: ModelEntity, states: TargetStates) => ({
  ...toListedModel(row),
  targets: row.targets.map((target) => viewOfTarget(target, row, states)),
}));

/** What the targets of this and other models show besides their rows. */
export interface TargetStates {
  failures: readonly TargetFailure[];
  /** The providers that were deleted. */
  erased: ReadonlySet<string>;
}

const UNKNOWN: TargetStates = { failures: [], erased: new Set() };

export const toModelDto = (row: ModelEntity, states = UNKNOWN): ModelDto => viewOfModel(row, states);

function viewOfTarget(
  target: ModelTarget,
  { model_id, generation }: ModelEntity,
  { failures, erased }: TargetStates,
): ModelTargetViewDto {
  const failure = failures.find(
    (one) =>
      one.model_id === model_id &&
      one.model_generation === generation &&
      one.provider_id === target.provider_id &&
      one.upstream_model === target.upstream_model,
  );
  return {
    ...target,
    state: failure?.is_cooling_down ? 'cooling_down' : 'active',
    last_error_at: failure?.last_error_at ?? null,
    ...(erased.has(target.provider_id) && { erased: true }),
  };
}

/** Adds the members for OpenAI's clients to a page. Models in different workspaces may have the same name. */
export function toModelPage({ items, page }: Page<ModelDto>): ModelPageDto {
  const byName = new Map<string, ListedModelDto>();
  for (const { id, object, created, owned_by } of items) {
    if (!byName.has(id)) byName.set(id, { id, object, created, owned_by });
  }
  return { items, page, object: 'list', data: [...byName.values()] };
}
