import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { NotNull, ReadOnlyMembersOf, viewOf, IsImmutable, IsNullableTime } from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { IsFilter, IsLimit, IsName, PlacedDto, REQUESTS_PER_MINUTE_MAX } from '../../resources';
import { IsBudget, MonthlySpendDto, UsdProperty } from '../budgets/budget.dto';
import { IsKeyModels, type ModelReference } from './key-models';

const TOKENS_PER_MINUTE_MAX = 1_000_000_000;
/** Prefix of the name of a key's service account. The name of the key follows. */
export const ACCOUNT_PREFIX = 'gateway key: ';
const NAME_MAX = 255 - ACCOUNT_PREFIX.length;

/** The limits of a gateway key in a request body. */
class KeyLimitsDto {
  /**
   * Models of the workspace, not archived (otherwise 400), that the key may call and see, by name or id. Null means all
   * models of the workspace.
   */
  @IsOptional()
  @IsKeyModels()
  models?: ModelReference[] | null;

  /** Maximum cost of all calls with the key per month (UTC), in US dollars. Null means no limit. */
  @IsOptional()
  @IsBudget()
  monthly_budget_usd?: number | null;

  /** Null means no limit. */
  @IsLimit(REQUESTS_PER_MINUTE_MAX)
  requests_per_minute?: number | null;

  /** Input and output tokens together. Null means no limit. */
  @IsLimit(TOKENS_PER_MINUTE_MAX)
  tokens_per_minute?: number | null;
}

@ReadOnlyMembersOf(() => GatewayKeyDto)
export class CreateGatewayKeyDto extends KeyLimitsDto {
  @IsString()
  workspace_id!: string;

  /**
   * The purpose of the key. Its service account is named `gateway key: <name>`, which must be unique among the
   * organization's service accounts (otherwise 409).
   */
  @IsName(NAME_MAX)
  name!: string;

  /** The time at which the key expires, in the future. Without it, the key works until it is revoked. */
  @IsNullableTime()
  expires_at?: string | null;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => GatewayKeyDto)
export class PatchGatewayKeyDto extends KeyLimitsDto {
  @IsImmutable('Must be the current workspace, because a key cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  key_id?: string;

  @IsImmutable()
  service_account_id?: string;

  /** A new name also renames the service account. */
  @NotNull()
  @IsName(NAME_MAX)
  name?: string;

  /** Immutable (422 for another value). To change the expiry, create another key. */
  @IsNullableTime()
  expires_at?: string | null;
}

export class GatewayKeyListQueryDto extends NamedListQueryDto {
  /** Only keys of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only keys with this name. */
  @IsFilter()
  name?: string;
}

/** A model that a key may call. */
export class KeyModelDto {
  model_id!: string;
  name!: string;
}

/** An API key for the model gateway, with its own service account and limits. */
export class GatewayKeyDto extends PlacedDto {
  key_id!: string;
  service_account_id!: string;
  name!: string;
  /** The first characters of the key. */
  prefix!: string;
  /** The models that the key may call and see. Null means all models of the workspace. */
  @ApiProperty({ type: [KeyModelDto], nullable: true })
  models!: KeyModelDto[] | null;
  @UsdProperty({ nullable: true })
  monthly_budget_usd!: number | null;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  requests_per_minute!: number | null;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  tokens_per_minute!: number | null;
  expires_at!: Date | null;
  revoked_at!: Date | null;
  /** Always null, because keys are revoked, not archived. See `revoked_at`. */
  declare archived_at: Date | null;
}

/** A new gateway key. `key` is shown only once. */
export class NewGatewayKeyDto extends GatewayKeyDto {
  /** Send it as `Authorization: Bearer rsk_…`, or use it as the API key of an OpenAI or Anthropic client. */
  key!: string;
}

/** The caller's gateway key, and the amount that all calls with the key have cost this month. */
export class CurrentGatewayKeyDto extends IntersectionType(GatewayKeyDto, MonthlySpendDto) {}

export class GatewayKeyPageDto extends PageOf(GatewayKeyDto) {}

export const toGatewayKeyDto = viewOf(GatewayKeyDto, () => ({ archived_at: null }));
