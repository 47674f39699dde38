import { fieldNameFault, fieldValueFault } from '#platform/outbound';
import { SealedColumn } from '#platform/secrets';
import { bearerFault, TargetAuth } from '../../resources';
import { type ApiEntity, AUTH_TYPES, type AuthType } from './api.entity';

export const API_SECRET = new SealedColumn('apis', 'auth_secret', 'api_id');

const QUERY_VALUE_MAX = 4_096;

const VALUE_FAULTS: Record<Exclude<AuthType, 'none'>, (value: string) => string | null> = {
  bearer: bearerFault,
  header: fieldValueFault,
  basic: basicFault,
  query: queryValueFault,
};

/** The `auth` of an API. */
export const API_AUTH = new TargetAuth<
  Pick<ApiEntity, 'auth_type' | 'auth_name'>,
  'base_url',
  'name' | 'value'
>(AUTH_TYPES, 'base_url', {
  name: {
    column: 'auth_name',
    types: ['header', 'query'],
    isRequired: true,
    fault: (name, type) => (type === 'header' ? headerFault(name) : parameterFault(name)),
    target: {
      // Header names are case-insensitive (RFC 9110, section 5.1). Parameter names are not.
      partOf: (name, type) => (type === 'header' ? name.toLowerCase() : name),
      changed: 'the name changed. Secrets are never sent under a new name.',
    },
  },
  value: {
    types: ['bearer', 'header', 'basic', 'query'],
    fault: (value, type) => (type === 'none' ? null : VALUE_FAULTS[type](value)),
  },
});

function headerFault(name: string): string | null {
  const fault = fieldNameFault(name);
  if (fault !== null) return fault;
  return name.toLowerCase() === 'cookie' ? 'must not be Cookie. Send the secret in another header' : null;
}

function parameterFault(name: string): string | null {
  return /^[\x21-\x7e]+$/.test(name) ? null : 'must contain only visible ASCII characters, without spaces';
}

function basicFault(value: string): string | null {
  if (/\p{Cc}/u.test(value)) return 'must not contain control characters';
  return value.includes(':') ? null : 'must be the user and the password, separated by a colon';
}

function queryValueFault(value: string): string | null {
  if (value.length > QUERY_VALUE_MAX) return `must have at most ${QUERY_VALUE_MAX} characters`;
  return /\p{Cc}/u.test(value) ? 'must not contain control characters' : null;
}
