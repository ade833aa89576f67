"""flakeid with SQLAlchemy's ORM.

Needs Python 3.10 and `pip install "SQLAlchemy>=2.1" "psycopg[binary]"`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to
a database that has the extension. Run: python3 examples/sqlalchemy_orm.py
"""
from datetime import datetime, timedelta, timezone

from sqlalchemy import BigInteger, DateTime, ForeignKey, create_engine, func, select, type_coerce
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.types import UserDefinedType


class Flake(UserDefinedType):
    """A flake, as an int."""

    cache_ok = True

    def get_col_spec(self):
        return "flake"

    def bind_expression(self, bindvalue):
        # With any driver a parameter is a bigint.
        return type_coerce(bindvalue, BigInteger)

    def result_processor(self, dialect, coltype):
        return lambda value: int(value) if value is not None else None

    def coerce_compared_value(self, op, value):
        return DateTime(timezone=True) if isinstance(value, datetime) else self


class Sno(UserDefinedType):
    """A sno, as its 16 characters."""

    cache_ok = True

    def get_col_spec(self):
        return "sno"

    def coerce_compared_value(self, op, value):
        # A sno is compared with a sno or with a time. SQLAlchemy would treat both as a sno, and not every driver sends a
        # datetime with its type.
        return DateTime(timezone=True) if isinstance(value, datetime) else self


# Reflection and Alembic find these types in a database.
ischema_names.update(flake=Flake, sno=Sno)


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    # The flakes of a session increase. SQLAlchemy 2.1 has to know this to insert many objects with one statement.
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next(monotonic=True))
    event: Mapped[str] = mapped_column(Sno, unique=True, server_default=func.sno_next(7))
    item: Mapped[str]


class Line(Base):
    __tablename__ = "lines"
    id: Mapped[int] = mapped_column(Flake, primary_key=True, server_default=func.flake_next(monotonic=True))
    order_id: Mapped[int] = mapped_column(ForeignKey(Order.id))


engine = create_engine("postgresql+psycopg://")
Base.metadata.create_all(engine)

with Session(engine) as session:
    orders = [Order(item=item) for item in ["tea", "milk", "bread", "salt", "rice"]]
    session.add_all(orders)
    # INSERT ... RETURNING returns both IDs, so that no other query is necessary.
    session.flush()
    for order in orders:
        print("made", order.id, order.event, order.item)

    # A thousand objects by one INSERT.
    lines = [Line(order_id=order.id) for _ in range(1000)]
    session.add_all(lines)
    session.flush()
    print("lines:", len({line.id for line in lines}))
    session.commit()

    since = datetime.now(timezone.utc) - timedelta(minutes=5)
    by_id = select(Order.id).where(Order.id >= since).order_by(Order.id)
    print("recent by id:", *session.scalars(by_id))
    by_event = select(Order.event).where(Order.event >= since).order_by(Order.event)
    print("recent by event:", *session.scalars(by_event))

    newest = select(Order.event).where(Order.event >= since).order_by(Order.event.desc()).limit(3)
    page, events = 1, session.scalars(newest).all()
    while events:
        print(f"page {page}:", *events)
        page, events = page + 1, session.scalars(newest.where(Order.event < events[-1])).all()
