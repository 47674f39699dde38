import { Module } from '@nestjs/common';
import { Environment } from '#platform/config';
import { openInstallationSecret } from './installation-secret';
import { InstallationSecretRepository } from './installation-secret.repository';
import { KeyRing } from './key-ring';
import { SecretBox } from './secret-box';
import { SecretKeys } from './secret-keys';

/** Provides the key ring, and what uses it. A process whose ring does not hold a key in use does not start. */
@Module({
  providers: [
    {
      provide: KeyRing,
      inject: [Environment],
      useFactory: (environment: Environment) => new KeyRing(environment),
    },
    SecretBox,
    InstallationSecretRepository,
    {
      provide: SecretKeys,
      inject: [InstallationSecretRepository, KeyRing, SecretBox],
      useFactory: openInstallationSecret,
    },
  ],
  exports: [KeyRing, SecretBox, SecretKeys, InstallationSecretRepository],
})
export class SecretsModule {}
