export { SealedSecretError, SecretBox } from './secret-box';
export { SecretKeys } from './secret-keys';
export { SecretsModule } from './secrets.module';
