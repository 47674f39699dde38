import type { SealedColumn } from '#platform/secrets';
import { SERVER_SECRET, SERVER_URL_SECRETS } from './mcp-servers';
import { PROVIDER_SECRET } from './model-gateway';
import { API_SECRET, ORG_SIGNING_KEY_SECRET, SIGNING_KEY_SECRET } from './registry';

/** Every column with sealed secrets, except the secret of the installation, which `rotate-secrets` re-encrypts first. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  SIGNING_KEY_SECRET,
  ORG_SIGNING_KEY_SECRET,
  API_SECRET,
  PROVIDER_SECRET,
  SERVER_SECRET,
  SERVER_URL_SECRETS,
];
