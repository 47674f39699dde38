import { ApiProperty } from '@nestjs/swagger';
import { applyDecorators } from '@nestjs/common';
import { IsIn, IsOptional } from 'class-validator';
import { IsNullableTime, Nested, ReadOnlyMembersOf, viewOf } from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { IsFilter, IsName, StampsDto } from '../../resources';
import type { ApiKeyEntity } from './api-key.entity';
import { KeyAllowBodyDto, KeyAllowDto } from './key-allow.dto';

/** Declares a limit of gateway keys, which other keys do not have. */
const IsLimitOfGatewayKeys = () =>
  applyDecorators(
    IsOptional(),
    IsIn([null], {
      message: '$property is a limit of gateway keys. Create the key with `POST /model/v1/keys`',
    }),
    ApiProperty({
      type: 'integer',
      enum: [null],
      nullable: true,
      required: false,
      description:
        'Must be null. Gateway keys, which have this limit, are created with `POST /model/v1/keys`.',
    }),
  );

@ReadOnlyMembersOf(() => ApiKeyDto)
export class CreateApiKeyDto {
  /** The purpose of the key. */
  @IsName()
  name!: string;

  /** The time at which the key expires, in the future. Without it, the key works until it is revoked. */
  @IsNullableTime()
  expires_at?: string | null;

  /** What the key allows. Without it, the key allows everything that the service account may do. */
  @IsOptional()
  @Nested(() => KeyAllowBodyDto)
  allow?: KeyAllowBodyDto | null;

  @IsLimitOfGatewayKeys()
  monthly_budget_usd?: null;

  @IsLimitOfGatewayKeys()
  requests_per_minute?: null;

  @IsLimitOfGatewayKeys()
  tokens_per_minute?: null;
}

export class ApiKeyListQueryDto extends NamedListQueryDto {
  /** Only keys with this name. */
  @IsFilter()
  name?: string;
}

/** An API key of a service account. */
export class ApiKeyDto extends StampsDto {
  key_id!: string;
  service_account_id!: string;
  name!: string;
  /** The first characters of the key. */
  prefix!: string;
  /** What the key allows. Null means everything that the service account may do. */
  @ApiProperty({ type: KeyAllowDto, nullable: true })
  allow!: KeyAllowDto | null;
  /** Maximum cost of all calls to models per month (UTC), in US dollars. Only gateway keys have one. */
  @ApiProperty({ type: 'number', format: 'double', minimum: 0, nullable: true })
  monthly_budget_usd!: number | null;
  /** Maximum calls to models. Only gateway keys have one. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  requests_per_minute!: number | null;
  /** Maximum tokens of calls to models. Only gateway keys have one. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  tokens_per_minute!: number | null;
  expires_at!: Date | null;
  revoked_at!: Date | null;
  /** Always null, because keys are revoked, not archived. See `revoked_at`. */
  declare archived_at: Date | null;
}

/** A new API key. `key` is shown only once. */
export class NewApiKeyDto extends ApiKeyDto {
  /** Send it as `Authorization: Bearer rsk_…`, or exchange it for a token. */
  key!: string;
}

export class ApiKeyPageDto extends PageOf(ApiKeyDto) {}

export const toApiKeyDto = viewOf(ApiKeyDto, (_: ApiKeyEntity, allow: KeyAllowDto | null) => ({
  allow,
  archived_at: null,
}));
