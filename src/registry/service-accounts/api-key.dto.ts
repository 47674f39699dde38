import { ReadOnlyMembersOf, viewOf, IsNullableTime } from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { IsFilter, IsName, StampsDto } from '../../resources';

@ReadOnlyMembersOf(() => ApiKeyDto)
export class CreateApiKeyDto {
  /** The purpose of the key. */
  @IsName()
  name!: string;

  /** The time at which the key expires, in the future. Without it, the key works until it is revoked. */
  @IsNullableTime()
  expires_at?: string | null;
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

export const toApiKeyDto = viewOf(ApiKeyDto, () => ({ archived_at: null }));
