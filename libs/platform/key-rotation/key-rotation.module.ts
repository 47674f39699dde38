import { Module } from '@nestjs/common';
import { LiveProcessRepository } from '#platform/heartbeat';
import { SecretsModule } from '#platform/secrets';
import { KeyRotation } from './key-rotation';
import { SealedSecretRepository } from './sealed-secret.repository';

/** Re-encrypts stored secrets with the newest key. */
@Module({
  imports: [SecretsModule],
  providers: [KeyRotation, LiveProcessRepository, SealedSecretRepository],
  exports: [KeyRotation],
})
export class KeyRotationModule {}
