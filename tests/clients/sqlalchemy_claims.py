"""What docs/orm.md says of SQLAlchemy and Alembic, for tests/t/docs/orms.pl: a line for each claim."""
import runpy
import warnings

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import BigInteger, ForeignKey, Identity, MetaData, Table, Uuid, create_engine, event, func, inspect, select, text
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

example = runpy.run_path("examples/sqlalchemy_orm.py")
Flake, Sno = example["Flake"], example["Sno"]
engine = create_engine("postgresql+psycopg://")
statements = []


@event.listens_for(engine, "before_cursor_execute")
def count(conn, cursor, statement, parameters, context, executemany):
    statements.append(statement)


class Base(DeclarativeBase):
    pass


class WithIdentity(Base):
    __tablename__ = "with_identity"
    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    item: Mapped[str]


class WithDefault(Base):
    __tablename__ = "with_default"
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next())
    item: Mapped[str]


class WithMonotonic(Base):
    __tablename__ = "with_monotonic"
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next(monotonic=True))
    item: Mapped[str]


class WithBigint(Base):
    __tablename__ = "with_bigint"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, server_default=func.flake_next(monotonic=True))
    item: Mapped[str]


class WithUuid(Base):
    __tablename__ = "with_uuid"
    id = mapped_column(Uuid, primary_key=True, server_default=func.uuidv7_next(monotonic=True))
    item: Mapped[str]


class WithSno(Base):
    __tablename__ = "with_sno"
    id: Mapped[str] = mapped_column(Sno, primary_key=True, server_default=func.sno_next())
    item: Mapped[str]


class WithBatch(Base):
    __tablename__ = "with_batch"
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next())
    item: Mapped[str]


@event.listens_for(Session, "before_flush")
def fetch_ids(session, context, instances):
    for model, next_batch in {WithBatch: func.flake_next_batch, WithSno: func.sno_next_batch}.items():
        new = [one for one in session.new if type(one) is model and not one.id]
        if new:
            for one, id in zip(new, session.scalars(select(next_batch(len(new))))):
                one.id = id


Base.metadata.create_all(engine)
for model in Base.__subclasses__():
    with Session(engine) as session:
        objects = [model(item=str(nr)) for nr in range(1000)]
        session.add_all(objects)
        statements.clear()
        session.flush()
        inserts = [statement for statement in statements if statement.startswith("INSERT")]
        rows = dict(session.execute(text(f"SELECT id::text, item FROM {model.__tablename__}")).all())
        right = {str(one.id): one.item for one in objects} == rows
        session.commit()
    print(f"{model.__tablename__}: {len(inserts)} INSERT, keys {'right' if right else 'wrong'}")


# Alembic, after a column of an earlier version has become a flake


class Upgraded(DeclarativeBase):
    pass


class Customer(Upgraded):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next(monotonic=True))
    event: Mapped[str] = mapped_column(Sno, unique=True, server_default=func.sno_next(7))


class Address(Upgraded):
    __tablename__ = "addresses"
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next(monotonic=True))
    customer_id: Mapped[int] = mapped_column(ForeignKey(Customer.id))


def differences():
    with engine.connect() as conn:
        context = MigrationContext.configure(conn, opts={
            "compare_type": True, "compare_server_default": True,
            "include_name": lambda name, kind, parents: kind != "table" or name in Upgraded.metadata.tables})
        return len(compare_metadata(context, Upgraded.metadata))


with engine.begin() as conn:
    conn.execute(text("""
        CREATE TABLE customers (id bigint PRIMARY KEY DEFAULT flake_next(), event sno NOT NULL UNIQUE DEFAULT sno_next(7));
        CREATE TABLE addresses (id bigint PRIMARY KEY DEFAULT flake_next(), customer_id bigint NOT NULL REFERENCES customers)"""))
print("differences before:", differences())
with engine.begin() as conn:
    conn.execute(text("""
        ALTER TABLE customers ALTER id TYPE flake;
        ALTER TABLE addresses ALTER id TYPE flake, ALTER customer_id TYPE flake"""))
print("differences after:", differences())
print("reflected:", *(type(column["type"]).__name__ for column in inspect(engine).get_columns("customers")))

for name in "flake", "sno":
    del ischema_names[name]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    table = Table("customers", MetaData(), autoload_with=engine)
print("reflected without:", *(type(column.type).__name__ for column in table.columns), len(caught))
