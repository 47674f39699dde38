import { ConfigurationError, ServiceError } from '../core/errors.js';

/** Returns an error that names the setting at fault, if the service's answer shows that one is wrong; else the same error. */
export function explained(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { status, detail, errors } = error;
  const texts = [detail, ...errors.map((one) => `${one.parameter ?? ''} ${one.detail}`)].join(' ');
  if ((status === 400 || status === 409) && /X-Service-Workspace-Id/i.test(texts))
    return new ConfigurationError(
      `The workspace is missing or wrong. Set SERVICE_WORKSPACE_ID, or pass workspaceId to \`new Client()\`. (${error.message})`,
      { cause: error },
    );
  if (status === 404 && detail.startsWith('No operation has this path'))
    return new ConfigurationError(
      `The service's address is wrong. Set SERVICE_URL to the address without a path, such as https://registry.example.com. (${error.message})`,
      { cause: error },
    );
  return error;
}
