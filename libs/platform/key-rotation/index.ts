export { KeyRotation, type RotatedColumn } from './key-rotation';
export { KeyRotationModule } from './key-rotation.module';
export { SealedSecretRepository } from './sealed-secret.repository';
