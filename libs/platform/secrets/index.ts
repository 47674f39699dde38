export { SealedSecretError, SecretBox } from './secret-box';
export { checkSecretsKey, SecretKeys } from './secret-keys';
export { SecretsModule } from './secrets.module';
