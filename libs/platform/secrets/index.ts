export { openInstallationSecret, sealInstallationSecretWith } from './installation-secret';
export { InstallationSecretRepository } from './installation-secret.repository';
export { KeyRing } from './key-ring';
export { SealedColumn, type SecretUse } from './sealed-column';
export { SealedSecretError, SecretBox } from './secret-box';
export { SecretKeys } from './secret-keys';
export { SecretsModule } from './secrets.module';
