import { IsOptional } from 'class-validator';
import { IsOneOf, Nested } from '#platform/http';
import type { FieldError } from '#platform/problem';
import { type Declared, faultsInSpec, headersFaultsTogether } from '../../resources';
import { API_AUTH } from './api-auth';
import { ApiAuthFieldsDto } from './api-auth.dto';
import { ApiFieldsDto } from './api.dto';
import { type ApiEntity, AUTH_TYPES, type AuthType, type VERSIONED_FIELDS } from './api.entity';
import { contentColumns, contentFaults, secretHeaderOf } from './api.service';

/** The columns that a declaration of an API decides. */
export type DeclaredApi = Pick<ApiEntity, (typeof VERSIONED_FIELDS)[number] | 'metadata'>;

/** `auth` without the secret, because everyone who can read the app sees its declarations. */
class ApiSpecAuthDto extends ApiAuthFieldsDto {
  @IsOneOf(AUTH_TYPES)
  type!: AuthType;
}

/** The spec of a declared API: the members of `CreateApiDto` that an app can declare. */
export class ApiSpecDto extends ApiFieldsDto {
  @IsOptional()
  @Nested(() => ApiSpecAuthDto)
  auth?: ApiSpecAuthDto | null;
}

/**
 * Returns the faults of a spec.
 *
 * @param pointer the JSON Pointer of the spec
 */
export function specFaults(spec: Record<string, unknown>, pointer: string): FieldError[] {
  const operation = 'PATCH /registry/v1/apis/{api_id}';
  const secretFaults = API_AUTH.declaredSecretFaults(spec.auth, `${pointer}/auth`, operation);
  if (secretFaults.length > 0) return secretFaults;
  return faultsInSpec(ApiSpecDto, spec, pointer, (dto) => {
    const { auth, headers } = dto;
    return [
      ...contentFaults(dto, pointer),
      ...(auth ? API_AUTH.faults(auth, `${pointer}/auth`) : []),
      ...headersFaultsTogether(headers ?? {}, secretHeaderOf(auth), `${pointer}/headers`),
    ];
  });
}

/** Reads a declaration that has no faults. */
export function readDeclared({ name, spec }: Declared): DeclaredApi {
  const dto = spec as unknown as ApiSpecDto;
  return { name, ...contentColumns(dto), ...API_AUTH.columns(dto.auth ?? { type: 'none' }) };
}
