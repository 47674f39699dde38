import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsOptional,
  IsString,
  Length,
  Matches,
} from 'class-validator';
import { WORKSPACE_HEADER } from '#platform/auth';
import {
  IsOneOf,
  Nested,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  IsImmutable,
  IsWholeNumber,
} from '#platform/http';
import { NamedListQueryDto } from '#platform/paging';
import {
  DescribedBodyDto,
  DescribedPatchDto,
  IsFilter,
  IsTimeout,
  type MemberOptions,
  IsLimit,
} from '../../resources';
import { IsBudget } from '../budgets/budget.dto';
import { ModelTargetDto } from './model-target.dto';
import { STRATEGIES, type Strategy } from './model.entity';
import { ModelDto } from './model-view.dto';

const NAME_MAX = 255;
const TARGETS_MAX = 10;
const RETRIES_MAX = 5;
const CACHE_TTL_MAX_SECONDS = 2_592_000;
const COOLDOWN_MAX_SECONDS = 3_600;

export const RETRIES_DEFAULT = 2;
export const TIMEOUT_DEFAULT_MS = 60_000;
export const COOLDOWN_DEFAULT_SECONDS = 30;

/** Names cannot look like ids, so that clients can send either. */
const MODEL_NAME = /^(?!model_)[A-Za-z0-9._:/@+-]*$/;

const IsModelName = () =>
  applyDecorators(
    IsString(),
    Length(1, NAME_MAX),
    Matches(MODEL_NAME, {
      message:
        '$property must consist of letters, digits and . _ : / @ + -, and must not begin with model_, as ids do',
    }),
    ApiProperty({ minLength: 1, maxLength: NAME_MAX, pattern: MODEL_NAME.source }),
  );

const IsTargets = ({ required = true } = {}) =>
  applyDecorators(
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(TARGETS_MAX),
    Nested(() => ModelTargetDto),
    ApiProperty({ type: [ModelTargetDto], minItems: 1, maxItems: TARGETS_MAX, required }),
  );

/** Declares a number of retries. */
const IsRetries = (options: MemberOptions = {}) =>
  IsWholeNumber({ format: 'int32', minimum: 0, maximum: RETRIES_MAX, required: false, ...options });

/** Declares the cooldown of targets. */
const IsCooldown = (options: MemberOptions = {}) =>
  IsWholeNumber({ format: 'int32', minimum: 0, maximum: COOLDOWN_MAX_SECONDS, required: false, ...options });

@ReadOnlyMembersOf(() => ModelDto)
export class CreateModelDto extends DescribedBodyDto {
  @IsString()
  workspace_id!: string;

  /**
   * The name that clients send as `model`. Unique among the workspace's models that are not archived (409).
   */
  @IsModelName()
  name!: string;

  /**
   * `single` calls the only target; `fallback` calls the first, and the next one if it fails; `weighted` calls a random
   * target, in proportion to the weights, and another one if it fails. Default: `single` for one target, otherwise
   * `fallback`.
   */
  @IsOptional()
  @IsOneOf(STRATEGIES, { required: false, nullable: true })
  strategy?: Strategy | null;

  /** The provider models that answer calls. */
  @IsTargets()
  targets!: ModelTargetDto[];

  /** How often a failed call is retried with the same target before the next target is called. */
  @IsOptional()
  @IsRetries({ nullable: true, default: RETRIES_DEFAULT })
  retries?: number | null;

  /** Timeout of each attempt in milliseconds: for a whole response, or for the next event of a stream. */
  @IsOptional()
  @IsTimeout({ nullable: true, default: TIMEOUT_DEFAULT_MS })
  timeout_ms?: number | null;

  /** Seconds for which calls avoid a target after three failures in a row. 0 disables this. */
  @IsOptional()
  @IsCooldown({ nullable: true, default: COOLDOWN_DEFAULT_SECONDS })
  cooldown_s?: number | null;

  /** Maximum cost of all calls of the model per month (UTC), in US dollars. Null means no limit. */
  @IsOptional()
  @IsBudget()
  monthly_budget_usd?: number | null;

  /** How long to reuse a response for the same request, in seconds. Null disables the cache. */
  @IsLimit(CACHE_TTL_MAX_SECONDS)
  cache_ttl_seconds?: number | null;

  /** Whether spans of calls contain the messages. */
  @IsOptional()
  @IsBoolean()
  @ApiProperty({ type: Boolean, nullable: true, required: false, default: false })
  capture_content?: boolean | null;

  /** Whether to record a span for each call. */
  @IsOptional()
  @IsBoolean()
  @ApiProperty({ type: Boolean, nullable: true, required: false, default: true })
  record_spans?: boolean | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ModelDto)
export class PatchModelDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because a model cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  model_id?: string;

  @NotNull()
  @IsModelName()
  name?: string;

  @NotNull()
  @IsOneOf(STRATEGIES, { required: false })
  strategy?: Strategy;

  /** Replaces the current targets. */
  @NotNull()
  @IsTargets({ required: false })
  targets?: ModelTargetDto[];

  @NotNull()
  @IsRetries()
  retries?: number;

  @NotNull()
  @IsTimeout()
  timeout_ms?: number;

  @NotNull()
  @IsCooldown()
  cooldown_s?: number;

  /** Null removes the budget. */
  @IsOptional()
  @IsBudget()
  monthly_budget_usd?: number | null;

  /** Null disables the cache. */
  @IsLimit(CACHE_TTL_MAX_SECONDS)
  cache_ttl_seconds?: number | null;

  @NotNull()
  @IsBoolean()
  capture_content?: boolean;

  @NotNull()
  @IsBoolean()
  record_spans?: boolean;
}

/** The optional header of operations that take the name of a model. */
export const NAMES_HEADER = {
  name: WORKSPACE_HEADER,
  required: false,
  description:
    'The only workspace in which the name of a model is looked up. Default: the workspace of a gateway key, or all workspaces of other callers. Returns 400 for several workspaces, and 403 for a workspace that you cannot access.',
  schema: { type: 'string' },
};

export class ModelListQueryDto extends NamedListQueryDto {
  /** Only models of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only models with this name. */
  @IsFilter()
  name?: string;

  /** Only models with this strategy. */
  @NotNull()
  @IsOneOf(STRATEGIES, { required: false })
  strategy?: Strategy;

  /** Only models that have this provider among their targets. */
  @IsFilter()
  provider_id?: string;

  /** Words or word prefixes in the name or the description. */
  @IsFilter(1000)
  q?: string;
}
